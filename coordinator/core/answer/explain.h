// explain.h: explains in sentences why a trial waits, or its current state.
//
// Tests: tests/coordinator/core/queries_test.cc
#pragma once

#include <string>

#include "absl/time/time.h"
#include "coordinator/core/model/state.h"

namespace dt {

// Returns why a pending trial waits, in one line.
std::string WhyWaiting(const State& state, TrialId id, absl::Duration now);
// Returns the part of a demand that no connected worker meets: "; no connected worker has label
// zone=a", or "" if workers meet all parts.
std::string NobodyHas(const LiveState& live, const Constraint& constraint);
// Returns why a trial of this shape fits no connected workers. `reason` is placement's.
std::string WhyNeverFits(const LiveState& live, const Shape& shape, const std::string& reason);
std::string ExplainSentences(const State& state, TrialId id, absl::Duration now);
// Returns why no trial of an experiment runs, for a user who waits for it; "" if one runs or the
// experiment has ended.
std::string WhyNothingRuns(const State& state, const Experiment& experiment, absl::Duration now);
// Returns a hint for users on the reports of the trial's program; "": no hint.
std::string HintOf(const State& state, TrialId id);

}  // namespace dt
