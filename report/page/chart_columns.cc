#include "report/page/chart_columns.h"

#include <algorithm>
#include <cmath>

#include "report/analysis/results.h"
#include "report/figures/axis.h"
#include "report/words/format.h"

namespace dt::report {

std::vector<const Trial*> Valued(const Experiment& experiment) {
  std::vector<const Trial*> valued = BestFirst(experiment);
  std::erase_if(valued,
                [](const Trial* one) { return !std::isfinite(one->summary.metric_value()); });
  return valued;
}

size_t QuarterOf(const std::vector<const Trial*>& valued) {
  const auto count = std::count_if(valued.begin(), valued.end(),
                                   [](const Trial* one) { return Counts(one->summary); });
  return std::max<size_t>(1, static_cast<size_t>(count) / 4);
}

std::vector<ParallelChart::Tick> ScaleTicks(Scale scale, double low, double high) {
  std::vector<ParallelChart::Tick> ticks;
  const auto place = [&](double value) {
    return scale == Scale::kLog ? std::log(value / low) / std::log(high / low)
                                : (value - low) / (high - low);
  };
  constexpr int kWanted = 6;
  ticks.push_back({0, NarrowTickText(low)});
  const double near = 0.06;  // its label would overlap that of the end
  const ChartAxis axis = ChartAxis::Round(scale, {low, high}, kWanted);
  for (const Tick& tick : axis.ticks()) {
    const double at = place(tick.value);
    if (at > near && at < 1 - near) ticks.push_back({at, NarrowTickText(tick.value)});
  }
  ticks.push_back({1, NarrowTickText(high)});
  return ticks;
}

ParallelChart::Column ColumnOf(const ParameterAxis& axis) {
  ParallelChart::Column column{axis.path.substr(axis.path.rfind('.') + 1), "", {}};
  if (axis.kind == ParameterAxis::Kind::kNumber) {
    column.scale = axis.scale == Scale::kLog ? "log scale" : "";
    column.ticks = ScaleTicks(axis.scale, axis.low, axis.high);
    return column;
  }
  const auto count = static_cast<double>(axis.texts.size());
  for (size_t i = 0; i < axis.texts.size(); ++i) {
    column.ticks.push_back({(static_cast<double>(i) + 0.5) / count, axis.texts[i]});
  }
  return column;
}

double MiddlePlace(const ParameterAxis& axis, const v1::TrialSummary& trial) {
  const double place = PlaceOf(axis, trial);
  if (axis.kind != ParameterAxis::Kind::kChoice) return place;
  return (place + 0.5) / static_cast<double>(axis.texts.size());
}

double MetricAxis::Place(double value) const {
  const double up = scale == Scale::kLog ? std::log(value / low) / std::log(high / low)
                                         : (value - low) / (high - low);
  const double within = std::clamp(up, 0.0, 1.0);
  return turned ? 1 - within : within;
}

MetricAxis MetricAxisOf(const std::vector<double>& values, Goal goal, Top top) {
  MetricAxis axis;
  axis.turned = top == Top::kBest && goal == Goal::kMinimize;
  const double sign = goal == Goal::kMinimize ? 1 : -1;
  std::vector<double> costs;
  for (const double value : values) costs.push_back(sign * value);
  std::sort(costs.begin(), costs.end());
  // A diverged trial would press all others together.
  const double quarter = costs[(costs.size() - 1) / 4];
  const double worse = costs[(costs.size() - 1) * 3 / 4];
  constexpr double kFar = 3;
  const double most = worse + kFar * (worse - quarter);
  if (worse > quarter) {
    while (costs.back() > most) {
      costs.pop_back();
      ++axis.beyond;
    }
  }
  axis.low = std::min(sign * costs.front(), sign * costs.back());
  axis.high = std::max(sign * costs.front(), sign * costs.back());
  if (!(axis.high > axis.low)) axis.high = axis.low + std::max(1e-9, std::abs(axis.low) * 1e-3);
  axis.scale = ChooseScale({axis.low, axis.high});
  return axis;
}

ParallelChart::Column MetricColumn(const MetricAxis& axis, const std::string& metric) {
  ParallelChart::Column column{Printable(metric), axis.scale == Scale::kLog ? "log scale" : "",
                               ScaleTicks(axis.scale, axis.low, axis.high)};
  if (!axis.turned) return column;
  for (ParallelChart::Tick& tick : column.ticks) tick.place = 1 - tick.place;
  std::reverse(column.ticks.begin(), column.ticks.end());
  return column;
}

std::vector<double> ValuesOf(const std::vector<const Trial*>& trials) {
  std::vector<double> values;
  for (const Trial* trial : trials) values.push_back(trial->summary.metric_value());
  return values;
}

}  // namespace dt::report
