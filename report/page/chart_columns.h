// chart_columns.h: the axes of a search's figures: its parameters, and its metric.
//
// Role:  pure. Units: a place is in [0, 1].
// Tests: tests/report/page/insight_test.cc
#pragma once

#include <string>
#include <vector>

#include "report/analysis/collect.h"
#include "report/analysis/parameter_axes.h"
#include "report/figures/parallel_chart.h"
#include "report/words/ranking.h"

namespace dt::report {

// Returns the trials with a value, in a report's order.
std::vector<const Trial*> Valued(const Experiment& experiment);

// Returns how many of these trials, which are in a report's order, are the best quarter of those
// that count. At least 1.
size_t QuarterOf(const std::vector<const Trial*>& valued);

// Returns ticks at both ends and at round numbers between.
std::vector<ParallelChart::Tick> ScaleTicks(Scale scale, double low, double high);

// Returns the axis of a parameter, under the last part of its path.
ParallelChart::Column ColumnOf(const ParameterAxis& axis);

// Returns the place of the trial's value on that axis; that of a choice is in the middle of its
// share.
double MiddlePlace(const ParameterAxis& axis, const v1::TrialSummary& trial);

// Value at the top of an axis.
enum class Top { kBest, kLargest };

// Axis of a metric.
struct MetricAxis {
  Scale scale = Scale::kLinear;
  double low = 0;
  double high = 1;
  bool turned = false;  // the lowest value is at the top
  size_t beyond = 0;    // values so much worse that they are drawn at the end

  double Place(double value) const;
};

// REQUIRES: `values` are finite, and there is one.
MetricAxis MetricAxisOf(const std::vector<double>& values, Goal goal, Top top);
ParallelChart::Column MetricColumn(const MetricAxis& axis, const std::string& metric);

// Returns the metric's best values.
std::vector<double> ValuesOf(const std::vector<const Trial*>& trials);

}  // namespace dt::report
