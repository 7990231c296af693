// metric_rows.cc: see metric_rows.h.
#include "worker/program/metric_rows.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "common/limits.h"
#include "common/text.h"
#include "spec/pattern/line_pattern.h"

namespace dt::program {
namespace {

using nlohmann::json;

std::string_view Stripped(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// Splits at the separator, except within quotation marks. A cell has at most the line's bytes.
std::vector<std::string> Cells(std::string_view line, char separator) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == separator && !quoted) {
      if (cells.size() >= kSampleNames) break;
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  for (std::string& cell : cells) cell = std::string(Stripped(cell));
  return cells;
}

// Returns the best word for a step among the names, as they are written there; "": none.
std::string StepWordIn(const std::vector<std::string>& names) {
  for (const std::string_view word : spec::kStepWords) {
    for (const std::string& name : names) {
      if (absl::AsciiStrToLower(name) == word) return name;
    }
  }
  return "";
}

}  // namespace

std::optional<Sample> MetricRows::TakeJson(std::string_view line) const {
  // Reports may have NaN, for which JSON has no word; Python writes it.
  std::string text;
  for (size_t i = 0; i < line.size();) {
    const bool word = i > 0 && (line[i - 1] == ' ' || line[i - 1] == ':');
    bool replaced = false;
    for (const std::string_view bad : {"NaN", "-Infinity", "Infinity"}) {
      if (!word || !line.substr(i).starts_with(bad)) continue;
      text += "\"nan\"";
      i += bad.size();
      replaced = true;
      break;
    }
    if (!replaced) text += line[i++];
  }
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object()) return std::nullopt;
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) {
    if (names.size() < kSampleNames) names.push_back(name);
  }
  const std::string step = StepWordIn(names);
  Sample sample;
  for (const std::string& name : names) {
    const json& value = object.at(name);
    std::optional<double> number;
    if (value.is_number()) number = value.get<double>();
    if (value.is_string()) number = spec::NumberIn(value.get_ref<const std::string&>());
    if (!number) continue;
    if (name == step) {
      sample.step = number;
    } else {
      sample.values.emplace_back(name, *number);
    }
  }
  return sample;
}

std::optional<Sample> MetricRows::TakeCells(std::string_view line) const {
  const std::vector<std::string> cells = Cells(line, separator_);
  Sample sample;
  for (size_t i = 0; i < cells.size() && i < columns_.size(); ++i) {
    const std::optional<double> number = spec::NumberIn(cells[i]);
    if (!number || columns_[i].empty()) continue;
    if (columns_[i] == step_word_) {
      sample.step = number;
    } else {
      sample.values.emplace_back(columns_[i], *number);
    }
  }
  return sample;
}

std::optional<Sample> MetricRows::Take(std::string_view line) {
  if (line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
  line = Stripped(line);
  if (line.empty() || line.size() > limits::kProgramLineBytes) return std::nullopt;
  if (!begun_) {
    begun_ = true;
    json_ = line.front() == '{';
    if (!json_) {
      const std::array<char, 3> separators = {',', ';', '\t'};
      separator_ = *std::max_element(separators.begin(), separators.end(), [&](char a, char b) {
        return std::count(line.begin(), line.end(), a) < std::count(line.begin(), line.end(), b);
      });
      columns_ = Cells(line, separator_);
      step_word_ = StepWordIn(columns_);
      return std::nullopt;
    }
  }
  std::optional<Sample> sample = json_ ? TakeJson(line) : TakeCells(line);
  if (!sample || sample->values.empty()) return std::nullopt;
  return sample;
}

}  // namespace dt::program
