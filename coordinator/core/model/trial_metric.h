// trial_metric.h: a trial's value of the metric that its experiment compares, from the journal.
//
// Role:      pure; reads durable facts alone. answer/summaries.h adds what is known live.
// Tests:     tests/coordinator/core/queries_test.cc
#pragma once

#include "coordinator/core/model/durable.h"

namespace dt {

// The training loss is told by reports, and durable only once an attempt has ended.
// A program's loss is an evaluation like any other metric.
bool IsLive(const Experiment& experiment);
// A program may tell it beside its other metrics alone, and then logs no steps.
double DurableLoss(const Experiment& experiment, const Trial& trial);
// A trial's value of search.metric: the loss of its newest row, or its best validation loss by
// search.goal, as far as the journal has it. NaN: none yet.
double DurableMetricOf(const Experiment& experiment, const Trial& trial);

}  // namespace dt
