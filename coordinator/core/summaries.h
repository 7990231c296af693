// summaries.h: one experiment, trial or worker as lists and metrics show it.
//
// Role:   pure; changes nothing.
// Tests:  tests/coordinator/core/queries_test.cc
#pragma once

#include <cstdint>

#include "absl/time/time.h"
#include "coordinator/core/state.h"
#include "dtrain/v1/control.pb.h"

namespace dt {

v1::ExperimentSummary Summarize(const State& state, const Experiment& experiment);
// REQUIRES: the trial exists. `now` is steady time, as everywhere here.
v1::TrialSummary Summarize(const State& state, TrialId id, absl::Duration now);
v1::WorkerSummary Summarize(const State& state, const Worker& worker, absl::Duration now);
// One that is marked, and not known otherwise.
v1::WorkerSummary SummarizeUnknown(const std::string& name, const WorkerMark& mark);

// A trial's value of search.metric: the loss of its newest row, or its best validation loss by
// search.goal. NaN: none yet.
double MetricOf(const State& state, const Experiment& experiment, uint32_t trial);
// What a person should know of what the trial's program reports; "": nothing.
std::string HintOf(const State& state, TrialId id);
// The step that still counts.
uint64_t ValidStep(const State& state, TrialId id);

// The same as far as the journal has it.
double DurableMetricOf(const Experiment& experiment, const Trial& trial);

}  // namespace dt
