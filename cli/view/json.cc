#include "cli/view/json.h"

#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/text.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace dt::cli {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

std::string Scalar(const Json& json) { return api::Dump(json, -1); }

std::string YamlScalar(const Json& json) {
  if (json.is_string() && IsPlainYaml(json.get<std::string>())) return json.get<std::string>();
  if (json.is_array() && json.empty()) return "[]";
  if (json.is_object() && json.empty()) return "{}";
  return Scalar(json);
}

bool IsBlock(const Json& json) { return json.is_structured() && !json.empty(); }

void AppendYaml(const Json& json, int indent, std::string& text) {
  const std::string margin(indent, ' ');
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) {
      absl::StrAppend(&text, margin, YamlScalar(Json(key)), ":");
      if (IsBlock(value)) {
        text += "\n";
        AppendYaml(value, indent + 2, text);
      } else {
        absl::StrAppend(&text, " ", YamlScalar(value), "\n");
      }
    }
    return;
  }
  for (const Json& value : json) {
    if (!IsBlock(value)) {
      absl::StrAppend(&text, margin, "- ", YamlScalar(value), "\n");
      continue;
    }
    std::string block;
    AppendYaml(value, indent + 2, block);
    block[indent] = '-';
    text += block;
  }
}

// A spreadsheet would run a text that begins so; numbers are not texts.
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

// Commas, quotes and ends of lines are for CSV.
std::string CsvField(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  return absl::StrCat("\"", absl::StrReplaceAll(std::string(text), {{"\"", "\"\""}}), "\"");
}

}  // namespace

void SetMessages(Message& message) {
  const auto* type = message.GetDescriptor();
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* field = type->field(i);
    if (field->is_repeated() || field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    SetMessages(*message.GetReflection()->MutableMessage(&message, field));
  }
}

std::string YamlText(const Json& json) {
  if (!IsBlock(json)) return YamlScalar(json) + "\n";
  std::string text;
  AppendYaml(json, 0, text);
  return text;
}

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

}  // namespace dt::cli
