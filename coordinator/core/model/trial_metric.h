// trial_metric.h: a trial's value of the metric that its experiment compares, from the journal.
//
// Role:      pure; reads durable facts alone. answer/summaries.h adds what is known live.
// Tests:     tests/coordinator/core/queries_test.cc
#pragma once

#include "coordinator/core/model/durable.h"

namespace dt {

// Returns whether the metric is the training loss, which reports carry and which is durable only
// once an attempt has ended. A program's loss is an evaluation like any other metric.
bool IsLive(const Experiment& experiment);
// Returns the newest durable loss. A program may report it only beside its other metrics, and then
// logs no steps.
double DurableLoss(const Experiment& experiment, const Trial& trial);
// Returns a trial's value of search.metric: the loss of its newest row, or its best validation loss
// by search.goal, as far as the journal has it. With several objectives, the newest value of the
// first one. Returns NaN if there is no value yet.
double DurableMetricOf(const Experiment& experiment, const Trial& trial);

}  // namespace dt
