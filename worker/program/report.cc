// report.cc: JSON as people and Python print it, NaN included.
#include "worker/program/report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/metric_name.h"
#include "common/text.h"

namespace dt::program {
namespace {

using nlohmann::json;

// The largest whole number that every double near it tells from its neighbours.
constexpr double kWholeMax = 9007199254740992.0;
constexpr size_t kShownBytes = 64;

// Names of v1::StepRow's fields; the runner knows no protobuf, so a test compares them.
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

// JSON has no word for what is not finite, and Python's writer uses these.
std::string WithNull(std::string_view line) {
  std::string text;
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const std::string_view rest = line.substr(i);
    if (quoted) {
      if (line[i] == '\\' && rest.size() > 1) {
        text += line[i++];  // what follows ends no text
      } else if (line[i] == '"') {
        quoted = false;
      }
    } else if (line[i] == '"') {
      quoted = true;
    } else {
      const auto word = [&rest]() -> size_t {
        for (const std::string_view each : {"-Infinity", "Infinity", "NaN"}) {
          if (rest.substr(0, each.size()) == each) return each.size();
        }
        return 0;
      }();
      if (word > 0) {
        text += "null";
        i += word - 1;
        continue;
      }
    }
    text += line[i];
  }
  return text;
}

WrongLine Wrong(std::string why) { return {std::move(why)}; }

// Not what is nested: writing that recurses as deep as its author likes.
std::string Shown(const json& value) {
  return value.is_primitive()
             ? CleanText(value.dump(-1, ' ', false, json::error_handler_t::replace), kShownBytes)
             : "a list or an object";
}

std::optional<WrongLine> TakeStep(const json& value, Report& report) {
  const double number = value.is_number() ? value.get<double>() : -1;
  if (!(number >= 0) || number > kWholeMax || number != std::floor(number)) {
    return Wrong(absl::StrCat("step is ", Shown(value), "; give a whole number from 0"));
  }
  report.step = static_cast<uint64_t>(number);
  return std::nullopt;
}

std::optional<WrongLine> TakeNumber(const std::string& name, const json& value, Report& report) {
  if (!IsMetricName(name)) {
    return Wrong(
        absl::StrCat("'", CleanText(name, limits::kMetricNameBytes),
                     "' is not a name for a metric; use letters, digits and _ . - /, at most ",
                     limits::kMetricNameBytes, ", beginning with a letter"));
  }
  double number = std::numeric_limits<double>::quiet_NaN();
  if (value.is_boolean()) {
    number = value.get<bool>() ? 1 : 0;
  } else if (value.is_number()) {
    number = value.get<double>();
  } else if (!value.is_null()) {
    return Wrong(absl::StrCat(name, " is not a number; report numbers alone"));
  }
  if (std::isinf(number)) number = std::numeric_limits<double>::quiet_NaN();
  if (report.numbers.size() >= limits::kMetrics) {
    return Wrong(absl::StrCat("it has more than ", limits::kMetrics, " numbers; report fewer"));
  }
  report.numbers[name] = number;
  return std::nullopt;
}

std::optional<WrongLine> TakeField(const std::string& name, const json& value, Report& report) {
  if (name == "step") return TakeStep(value, report);
  if (name == "checkpoint") {
    if (!value.is_string() || value.get<std::string>().empty()) {
      return Wrong("checkpoint is not the name of a folder");
    }
    report.checkpoint = value.get<std::string>();
    return std::nullopt;
  }
  if (name == "progress") {
    const double share = value.is_number() ? value.get<double>() : -1;
    if (!(share >= 0 && share <= 1)) {
      return Wrong(absl::StrCat("progress is ", Shown(value), "; give a number from 0 to 1"));
    }
    report.progress = share;
    return std::nullopt;
  }
  return TakeNumber(name, value, report);
}

}  // namespace

std::variant<Report, WrongLine> ReadReport(std::string_view line) {
  if (line.size() > limits::kProgramLineBytes) {
    return Wrong(absl::StrCat("it has more than ", limits::kProgramLineBytes, " bytes"));
  }
  const json object = json::parse(WithNull(line), nullptr, false);
  if (!object.is_object()) {
    return Wrong("it is not a JSON object; write a line such as {\"step\": 1, \"val_loss\": 3.1}");
  }
  Report report;
  for (const auto& [name, value] : object.items()) {
    if (std::optional<WrongLine> wrong = TakeField(name, value, report)) return *std::move(wrong);
  }
  if (!report.numbers.empty() && !report.step) {
    return Wrong("it has no step; say at which one these numbers were measured");
  }
  if (!report.step && !report.checkpoint && !report.progress) {
    return Wrong("it says nothing; report a step with numbers, a checkpoint, or progress");
  }
  return report;
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
