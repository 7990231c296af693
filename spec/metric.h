// metric.h: what an evaluation says of a metric.
//
// Role:  pure.
// Tests: tests/coordinator/core/claims_test.cc and tests/cli/report, through who asks
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dtrain/v1/model.pb.h"

namespace dt::spec {

// By the name that search.metric has for it; NaN: nothing.
double MetricIn(const ::dtrain::v1::Evaluation& evaluation, std::string_view metric);

// Whether it says anything of the metric, be it that it is no number. An older worker does not tell
// a val_loss without a number from none: alone in its report it is meant.
bool Names(const ::dtrain::v1::Evaluation& evaluation, std::string_view metric);

// The names by which it has a number.
std::vector<std::string> MetricsIn(const ::dtrain::v1::Evaluation& evaluation);

}  // namespace dt::spec
