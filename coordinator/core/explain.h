// explain.h: why a trial waits, or what is happening to it, in sentences.
//
// Tests: tests/coordinator/core/queries_test.cc
#pragma once

#include <string>

#include "absl/time/time.h"
#include "coordinator/core/state.h"

namespace dt {

// Why nothing of it starts. REQUIRES: it is paused.
std::string PausedText(const Experiment& experiment);
// Why a pending trial waits, one line.
std::string WhyWaiting(const State& state, TrialId id, absl::Duration now);
// "; no connected worker has label zone=a": which part of a demand nobody connected meets; "": none.
std::string NobodyHas(const LiveState& live, const Constraint& constraint);
// "trial 3/1", "the next trial of experiment 3".
std::string TrialText(TrialId id);
std::string ExplainSentences(const State& state, TrialId id, absl::Duration now);

}  // namespace dt
