// report.cc: parses JSON as people and Python print it, NaN included.
#include "worker/program/report.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/limits.h"
#include "common/metric_name.h"
#include "common/text.h"
#include "spec/pattern/line_pattern.h"

namespace dt::program {
namespace {

using nlohmann::json;

// Up to this number, doubles tell neighbouring integers apart.
constexpr double kWholeMax = 9007199254740992.0;
constexpr size_t kShownBytes = 64;

// Names of v1::StepRow's fields; the runner has no protobuf, so a test compares them.
constexpr std::array<std::string_view, 26> kRowColumns = {"loss",
                                                          "learning_rate",
                                                          "grad_norm",
                                                          "tokens",
                                                          "seconds",
                                                          "data_seconds",
                                                          "forward_seconds",
                                                          "backward_seconds",
                                                          "comm_exposed_seconds",
                                                          "optimizer_seconds",
                                                          "other_seconds",
                                                          "allreduce_seconds",
                                                          "allreduce_bytes",
                                                          "allreduce_count",
                                                          "memory_peak_bytes",
                                                          "tensor_held_bytes",
                                                          "tensor_peak_bytes",
                                                          "rank_skew_seconds",
                                                          "slowest_rank",
                                                          "eval_seconds",
                                                          "checkpoint_seconds",
                                                          "steps",
                                                          "nonfinite_steps",
                                                          "flops",
                                                          "peak_flops",
                                                          "noise_scale_tokens"};

bool IsNotFinite(std::string_view word) {
  if (!word.empty() && (word[0] == '-' || word[0] == '+')) word.remove_prefix(1);
  std::string lower(word);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower == "nan" || lower == "inf" || lower == "infinity";
}

bool IsBeyondRange(const std::string& word) {
  char* end = nullptr;
  const double number = std::strtod(word.c_str(), &end);
  return std::isinf(number) && end == word.c_str() + word.size();
}

// Does not print nested values, since that would recurse as deep as its author likes.
std::string Shown(const json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  if (!value.is_string()) return value.dump();
  const auto& text = value.get_ref<const std::string&>();
  if (text.starts_with(kBeyond)) {
    return absl::StrCat(CleanText(std::string_view(text).substr(1), kShownBytes),
                        ", beyond the range of numbers");
  }
  return absl::StrCat("the text '", Printable(CleanText(text, kShownBytes)), "'");
}

std::string WhyNoNumber(const json& value) {
  if (value.is_object()) return "it is an object; put its numbers beside the step, each by a name";
  if (value.is_array()) return "it is a list; report one number by each name";
  if (value.get_ref<const std::string&>().starts_with(kBeyond)) {
    return absl::StrCat("it is ", Shown(value), ", 1.8e308");
  }
  return absl::StrCat("it is ", Shown(value), "; report a number, without quotation marks");
}

// Reads one line, field by field.
class Reading {
 public:
  explicit Reading(std::string_view metric) : metric_(metric) {}

  std::variant<Report, WrongLine> Read(const json& object) {
    if (const std::string why = TakeStep(object); !why.empty()) return WrongLine{why};
    for (const auto& [name, value] : object.items()) {
      if (name != report_.step_word) TakeField(name, value);
    }
    if (!report_.numbers.empty() && !report_.step) {
      return WrongLine{"it has no step; say at which one these numbers were measured"};
    }
    if (!report_.step && !report_.checkpoint && !report_.progress) {
      if (report_.flaws.empty()) {
        return WrongLine{"it says nothing; report a step with numbers, a checkpoint, or progress"};
      }
      const Flaw& first = report_.flaws.front();
      return WrongLine{absl::StrCat("'", first.name, "' is left out: ", first.why)};
    }
    return std::move(report_);
  }

 private:
  // Returns the line's name for its step. "": it has none, or `why` has the error.
  static std::string StepWord(const json& object, std::string& why) {
    std::vector<std::string> there;
    for (const std::string_view word : spec::kStepWords) {
      if (object.contains(word)) there.emplace_back(word);
    }
    if (there.empty()) return "";
    const bool clear = there.size() == 1 || there[0] == "step" || there[0] == "global_step";
    if (clear) return there[0];
    why = absl::StrCat("it has ", absl::StrJoin(there, " and "),
                       " and no step; call the one that rises from line to line step");
    return "";
  }

  std::string TakeStep(const json& object) {
    std::string why;
    const std::string word = StepWord(object, why);
    if (word.empty()) return why;
    const json& value = object.at(word);
    const double number = value.is_number() ? value.get<double>() : -1;
    if (!(number >= 0) || number > kWholeMax || number != std::floor(number)) {
      return absl::StrCat(word, " is ", Shown(value), "; give ", word == "step" ? "" : "a step, ",
                          "an integer from 0");
    }
    report_.step = static_cast<uint64_t>(number);
    report_.step_word = word;
    return "";
  }

  void TakeField(const std::string& name, const json& value) {
    if (name == "checkpoint") {
      if (!value.is_string() || value.get_ref<const std::string&>().empty()) {
        return LeaveOut(name, absl::StrCat("it is ", Shown(value), "; give the name of a folder"));
      }
      report_.checkpoint = value.get<std::string>();
    } else if (name == "progress") {
      const double share = value.is_number() ? value.get<double>() : -1;
      if (!(share >= 0 && share <= 1)) {
        return LeaveOut(name, absl::StrCat("it is ", Shown(value), "; give a number from 0 to 1"));
      }
      report_.progress = share;
    } else {
      TakeNumber(name, value);
    }
  }

  void TakeNumber(const std::string& name, const json& value) {
    const bool metric = !metric_.empty() && name == metric_;
    if (!IsMetricName(name)) return LeaveOut(name, kMetricNameRule);
    if (!metric && report_.numbers.size() >= limits::kMetrics) {
      return LeaveOut(name, absl::StrCat("the line has more than ", limits::kMetrics,
                                         " numbers; report fewer"));
    }
    double number = std::numeric_limits<double>::quiet_NaN();
    if (value.is_boolean()) {
      number = value.get<bool>() ? 1 : 0;
    } else if (value.is_number()) {
      number = value.get<double>();
    } else if (!value.is_null()) {
      LeaveOut(name, WhyNoNumber(value));
      if (!metric) return;
    }
    if (std::isinf(number)) number = std::numeric_limits<double>::quiet_NaN();
    report_.numbers[name] = number;
  }

  void LeaveOut(const std::string& name, std::string_view why) {
    if (report_.flaws.size() >= limits::kMetrics) return;
    report_.flaws.push_back(
        {Printable(CleanText(name, limits::kMetricNameBytes)), std::string(why)});
  }

  const std::string_view metric_;
  Report report_;
};

}  // namespace

std::string ReadableJson(std::string_view line, std::string_view not_finite) {
  constexpr std::string_view kOfWords =
      "+-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
  std::string text;
  bool quoted = false;
  for (size_t i = 0; i < line.size();) {
    if (quoted) {
      if (line[i] == '\\' && i + 1 < line.size()) {
        text += line[i++];  // an escaped character ends no string
      } else if (line[i] == '"') {
        quoted = false;
      }
      text += line[i++];
      continue;
    }
    const size_t end = std::min(line.find_first_not_of(kOfWords, i), line.size());
    if (end == i) {
      quoted = line[i] == '"';
      text += line[i++];
      continue;
    }
    const std::string word(line.substr(i, end - i));
    if (IsNotFinite(word)) {
      text += not_finite;
    } else if (IsBeyondRange(word)) {
      absl::StrAppend(&text, "\"\\u0001", CleanText(word, kShownBytes), "\"");
    } else {
      text += word;
    }
    i = end;
  }
  return text;
}

std::variant<Report, WrongLine> ReadReport(std::string_view line, std::string_view metric) {
  if (line.size() > limits::kProgramLineBytes) {
    return WrongLine{absl::StrCat("it has more than ", limits::kProgramLineBytes, " bytes")};
  }
  const json object = json::parse(ReadableJson(line, "null"), nullptr, false);
  if (!object.is_object()) {
    return WrongLine{
        "it is not a JSON object; write a line such as {\"step\": 1, \"val_loss\": 3.1}"};
  }
  return Reading(metric).Read(object);
}

bool IsRowColumn(std::string_view name) {
  return std::find(kRowColumns.begin(), kRowColumns.end(), name) != kRowColumns.end();
}

bool IsRow(const Report& report) {
  return !report.numbers.empty() &&
         std::all_of(report.numbers.begin(), report.numbers.end(),
                     [](const auto& number) { return IsRowColumn(number.first); });
}

}  // namespace dt::program
