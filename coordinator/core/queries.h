// queries.h: answers about the state; shared by client calls and the metrics snapshot.
//
// Role: pure, changes nothing.
#pragma once

#include "absl/time/time.h"
#include "coordinator/core/state.h"
#include "dtrain/v1/control.pb.h"

namespace dt {

v1::ExperimentSummary Summarize(const State& state, const Experiment& experiment);
// REQUIRES: the trial exists.
v1::TrialSummary Summarize(const State& state, TrialId id, absl::Duration now);
v1::WorkerSummary Summarize(const State& state, const Worker& worker, absl::Duration now);

}  // namespace dt
