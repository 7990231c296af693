// samples.cc: see samples.h.
#include "worker/program/samples.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"

namespace dt::program {
namespace {

// JSON has no word for a value that is not finite; reports may have NaN.
std::string NumberText(double number) {
  if (!std::isfinite(number)) return "NaN";
  if (number == std::floor(number) && std::abs(number) < 9e15) {
    return absl::StrCat(static_cast<int64_t>(number));
  }
  return nlohmann::json(number).dump();
}

std::string Quoted(const std::string& name) {
  return nlohmann::json(name).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

bool SameNumber(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// Counts values without a step by name: the third loss belongs to step 3, and so does an accuracy
// that follows it. Once a step was written, that counts.
std::optional<double> Samples::StepOf(const Sample& sample) {
  if (sample.step) {
    const bool falls = step_ && *sample.step < *step_;
    if (!falls || fall_ == Fall::kKeep) step_ = sample.step;
    return falls && fall_ == Fall::kLift ? step_ : sample.step;
  }
  if (step_) return step_;
  for (const auto& value : sample.values) {
    const auto found = last_.find(value.first);
    counted_ = std::max(counted_, (found == last_.end() ? 0 : found->second.count) + 1);
  }
  return static_cast<double>(resumed_step_ + counted_);
}

std::string Samples::LineOf(const Sample& sample) {
  if (sample.values.empty() && !sample.step) return "";
  const std::optional<double> step = StepOf(sample);
  std::string line = absl::StrCat("{\"step\": ", NumberText(*step));
  size_t told = 0;
  for (const auto& [name, value] : sample.values) {
    if (last_.size() >= kSampleNames && !last_.contains(name)) continue;
    const auto [at, first] = last_.try_emplace(name);
    Last& last = at->second;
    if (!sample.step && !step_) last.count = counted_;
    if (!first && last.step == *step && SameNumber(last.value, value)) continue;
    last.step = *step;
    last.value = value;
    absl::StrAppend(&line, ", ", Quoted(name), ": ", NumberText(value));
    ++told;
  }
  return told == 0 && !sample.values.empty() ? "" : line + "}";
}

}  // namespace dt::program
