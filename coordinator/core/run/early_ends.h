// early_ends.h: programs that end within seconds of their start, before they told anything, with
// the same error again: no other try helps.
//
// Role:      pure. That an end was early is decided once, and recorded with it.
// Tests:     tests/coordinator/core/early_ends_test.cc
#pragma once

#include <optional>
#include <string>

#include "coordinator/core/model/gang_end.h"
#include "coordinator/core/model/placement.h"
#include "coordinator/core/model/turn.h"

namespace dt {

// Whether this end of a program is its own fault, as far as one try can tell: soon, by itself, and
// without a report, a checkpoint or a sign of progress.
bool IsEarly(const Turn& turn, const LiveAttempt& attempt, const RankEnd& end);
// Why no other attempt follows an early end; nullopt: another may help. It ended so before: on
// another worker, or no other could have taken it, or once more.
std::optional<std::string> EndsAlike(const State& state, const LiveAttempt& attempt,
                                     const RankEnd& end);
// `decision` on another worker, of another host where one is free, if the trial's newest attempt
// crashed where it would go: that shows which of the two is at fault. Of gangs of one slot alone.
Decision AwayFromCrash(const State& state, TrialId id, const SlotPool& pool,
                       const std::string& storage_id, Decision decision);
// Why the experiment's other trials need not be tried, where this one has failed by such ends;
// nullopt: some may do better.
std::optional<std::string> AllFailAlike(const Turn& turn, TrialId id);

}  // namespace dt
