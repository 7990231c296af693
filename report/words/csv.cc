#include "report/words/csv.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace dt::report {
namespace {

std::string Scalar(const Json& json) { return api::Dump(json, -1); }

// Puts a quote before a text that a spreadsheet would run as a formula. Numbers stay as they are.
std::string Defused(const std::string& text) {
  const bool active =
      !text.empty() && std::string_view("=+-@\t\r").find(text[0]) != std::string_view::npos;
  return active ? "'" + text : text;
}

using Cells = std::map<std::string, std::string>;  // by column

void FillCells(const std::string& name, const Json& json, Cells& cells) {
  const auto cell = cells.find(name);
  if (cell != cells.end()) {
    cell->second = CsvCell(json);
  } else if (json.is_object()) {
    for (const auto& [key, value] : json.items()) {
      FillCells(name.empty() ? key : absl::StrCat(name, ".", key), value, cells);
    }
  }
}

void AppendColumns(const std::string& name, const Json& json, std::vector<std::string>& columns) {
  if (!json.is_object() || json.empty()) {
    if (!name.empty()) columns.push_back(name);
    return;
  }
  for (const auto& [key, value] : json.items()) {
    AppendColumns(name.empty() ? key : absl::StrCat(name, ".", key), value, columns);
  }
}

// Quotes a text with a comma, a quote or an end of line.
std::string CsvField(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  return absl::StrCat("\"", absl::StrReplaceAll(std::string(text), {{"\"", "\"\""}}), "\"");
}

}  // namespace

std::string CsvCell(const Json& json) {
  if (json.is_null()) return "";
  if (json.is_string()) return Defused(json.get<std::string>());
  if (!json.is_structured()) return Scalar(json);
  std::string text;
  for (const auto& [key, value] : json.items()) {
    const std::string piece = value.is_string() ? value.get<std::string>() : Scalar(value);
    const bool is_text = value.is_string() || json.is_object();
    const std::string cell = json.is_object() ? absl::StrCat(key, "=", piece) : piece;
    absl::StrAppend(&text, text.empty() ? "" : ";", text.empty() && is_text ? Defused(cell) : cell);
  }
  return text;
}

std::string CsvLine(const std::vector<std::string>& cells) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    absl::StrAppend(&line, i == 0 ? "" : ",", CsvField(cells[i]));
  }
  return line + "\n";
}

std::string CsvText(const std::vector<std::string>& columns, const std::vector<Json>& items) {
  std::string csv = CsvLine(columns);
  for (const Json& item : items) {
    Cells cells;
    for (const std::string& column : columns) cells[column];
    FillCells("", item, cells);
    std::vector<std::string> row;
    row.reserve(columns.size());
    for (const std::string& column : columns) row.push_back(cells[column]);
    csv += CsvLine(row);
  }
  return csv;
}

std::vector<std::string> CsvColumns(const Json& item) {
  std::vector<std::string> columns;
  AppendColumns("", item, columns);
  return columns;
}

std::vector<std::string> WithParameters(std::vector<std::string> columns,
                                        const std::vector<std::string>& paths) {
  constexpr char kAssignments[] = "assignments";
  std::erase(columns, kAssignments);
  for (const std::string& path : paths) columns.push_back(absl::StrCat(kAssignments, ".", path));
  return columns;
}

}  // namespace dt::report
