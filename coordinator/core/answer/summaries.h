// summaries.h: an experiment, trial or worker as lists and metrics show it.
//
// Role:   pure; changes nothing.
// Tests:  tests/coordinator/core/queries_test.cc
#pragma once

#include <cstdint>

#include "absl/time/time.h"
#include "coordinator/core/model/state.h"
#include "dtrain/v1/control.pb.h"

namespace dt {

v1::ExperimentSummary Summarize(const State& state, const Experiment& experiment);
// Summarizes the trial. `now` is steady time, as everywhere here. REQUIRES: the trial exists.
v1::TrialSummary Summarize(const State& state, TrialId id, absl::Duration now);
v1::WorkerSummary Summarize(const State& state, const Worker& worker, absl::Duration now);
// Summarizes a worker of which only the mark is known.
v1::WorkerSummary SummarizeUnknown(const std::string& name, const WorkerMark& mark);

// Return times to show. The journal has them by the wall clock of their moment, which may have been
// wrong. So no time is in the future, no start before the submission, no end before the start. 0:
// not yet.
int64_t SubmittedAt(const State& state, const Experiment& experiment);
int64_t StartedAt(const State& state, const Experiment& experiment, const Attempt& attempt);
int64_t EndedAt(const State& state, int64_t ended_wall_ms, int64_t started_wall_ms);

// Returns a trial's value of search.metric: the loss of its newest row, or its best validation loss
// by search.goal. Returns NaN if there is no value yet.
double MetricOf(const State& state, const Experiment& experiment, uint32_t trial);
// Returns the newest step that counts.
uint64_t ValidStep(const State& state, TrialId id);

}  // namespace dt
