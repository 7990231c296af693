#include "report/analysis/parameter_axes.h"

#include <algorithm>
#include <cmath>

#include "report/analysis/configurations.h"
#include "report/analysis/results.h"
#include "report/words/format.h"

namespace dt::report {
namespace {

// Upper bound on the values of a list. A list in a file is shorter; more values were drawn from a
// range.
constexpr size_t kListMost = 12;

const v1::Parameter* ParameterAt(const v1::ExperimentSpec& spec, const std::string& path) {
  const auto found = std::find_if(spec.parameters().begin(), spec.parameters().end(),
                                  [&](const v1::Parameter& one) { return one.path() == path; });
  return found == spec.parameters().end() ? nullptr : &*found;
}

ParameterAxis NumberAxis(const SweptParameter& swept, const v1::Parameter* parameter) {
  ParameterAxis axis{.path = swept.path};
  if (parameter != nullptr && parameter->has_range()) {
    axis.low = parameter->range().min();
    axis.high = parameter->range().max();
    const bool log = parameter->range().scale() == "log" && axis.low > 0;
    axis.scale = log ? Scale::kLog : Scale::kLinear;
  } else {
    axis.low = *std::min_element(swept.numbers.begin(), swept.numbers.end());
    axis.high = *std::max_element(swept.numbers.begin(), swept.numbers.end());
    axis.scale = ChooseScale(swept.numbers);
  }
  return axis;
}

ParameterAxis ListAxis(const SweptParameter& swept) {
  ParameterAxis axis{.path = swept.path, .texts = swept.texts};
  if (swept.numbers.empty()) {
    axis.kind = ParameterAxis::Kind::kChoice;
    std::sort(axis.texts.begin(), axis.texts.end());
    return axis;
  }
  axis.kind = ParameterAxis::Kind::kOrdered;
  std::vector<size_t> order(swept.texts.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return swept.numbers[a] < swept.numbers[b]; });
  for (size_t i = 0; i < order.size(); ++i) axis.texts[i] = swept.texts[order[i]];
  return axis;
}

double PlaceOnScale(const ParameterAxis& axis, double value) {
  if (axis.scale == Scale::kLog) {
    if (!(value > 0)) return kUnknown;
    return std::log(value / axis.low) / std::log(axis.high / axis.low);
  }
  return (value - axis.low) / (axis.high - axis.low);
}

}  // namespace

std::vector<ParameterAxis> AxesOf(const Experiment& experiment) {
  std::vector<ParameterAxis> axes;
  for (const SweptParameter& swept : SweptIn(experiment.trials)) {
    if (swept.path == kSeed) continue;
    const v1::Parameter* parameter = ParameterAt(experiment.found.spec(), swept.path);
    const bool range = parameter != nullptr && parameter->has_range();
    const bool drawn = range || swept.texts.size() > kListMost;
    axes.push_back(drawn && !swept.numbers.empty() ? NumberAxis(swept, parameter)
                                                   : ListAxis(swept));
  }
  return axes;
}

double PlaceOf(const ParameterAxis& axis, const v1::TrialSummary& trial) {
  if (axis.kind == ParameterAxis::Kind::kNumber) {
    const double place = PlaceOnScale(axis, NumberAt(trial, axis.path));
    return std::isfinite(place) ? std::clamp(place, 0.0, 1.0) : kUnknown;
  }
  const auto found = std::find(axis.texts.begin(), axis.texts.end(), ValueAt(trial, axis.path));
  if (found == axis.texts.end()) return kUnknown;
  const auto index = static_cast<double>(found - axis.texts.begin());
  if (axis.kind == ParameterAxis::Kind::kChoice) return index;
  return (index + 0.5) / static_cast<double>(axis.texts.size());
}

}  // namespace dt::report
