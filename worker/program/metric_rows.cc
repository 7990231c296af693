// metric_rows.cc: see metric_rows.h.
#include "worker/program/metric_rows.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "common/limits.h"
#include "common/text.h"
#include "spec/pattern/line_pattern.h"
#include "worker/program/report.h"

namespace dt::program {
namespace {

using nlohmann::json;

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
  for (std::string& cell : cells) cell = std::string(Trimmed(cell));
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
  // A text, since null is no number here.
  const json object = json::parse(ReadableJson(line, "\"nan\""), nullptr, false);
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
    if (value.is_string()) {
      const auto& text = value.get_ref<const std::string&>();
      number = text.starts_with(kBeyond) ? std::numeric_limits<double>::quiet_NaN()
                                         : spec::NumberIn(text);
    }
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
  line = Trimmed(line);
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
