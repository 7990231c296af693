// explain.h: why a trial waits, or what is happening to it, in sentences.
//
// Tests: tests/coordinator/core/queries_test.cc
#pragma once

#include <string>

#include "absl/time/time.h"
#include "coordinator/core/model/state.h"

namespace dt {

// Why a pending trial waits, one line.
std::string WhyWaiting(const State& state, TrialId id, absl::Duration now);
// "; no connected worker has label zone=a": which part of a demand nobody connected meets; "": none.
std::string NobodyHas(const LiveState& live, const Constraint& constraint);
std::string ExplainSentences(const State& state, TrialId id, absl::Duration now);
// Why nothing of an experiment runs, for a person who waits for it; "": something does, or it has
// ended.
std::string WhyNothingRuns(const State& state, const Experiment& experiment, absl::Duration now);
// What a person should know of what the trial's program reports; "": nothing.
std::string HintOf(const State& state, TrialId id);

}  // namespace dt
