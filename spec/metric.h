// metric.h: reads a metric from an evaluation.
//
// Role:  pure.
// Tests: tests/coordinator/core/plausibility_test.cc and tests/report, through the callers
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dtrain/v1/model.pb.h"

namespace dt::spec {

// Returns the value under the name that search.metric uses; NaN: none.
double MetricIn(const ::dtrain::v1::Evaluation& evaluation, std::string_view metric);

// Returns whether the evaluation reports the metric, even as NaN. A report of an older worker
// cannot tell a val_loss that is NaN from an absent one: if it has nothing else, val_loss is meant.
bool Names(const ::dtrain::v1::Evaluation& evaluation, std::string_view metric);

// Returns the names of all metrics that have a number.
std::vector<std::string> MetricsIn(const ::dtrain::v1::Evaluation& evaluation);

}  // namespace dt::spec
