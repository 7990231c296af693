// early_ends.h: programs that end within seconds of their start, before any report, and with the
// same error again: another try does not help.
//
// Role:      pure. Whether an end was early is decided once, and recorded with it.
// Tests:     tests/coordinator/core/early_ends_test.cc
#pragma once

#include <optional>
#include <string>

#include "coordinator/core/model/gang_end.h"
#include "coordinator/core/model/placement.h"
#include "coordinator/core/model/turn.h"

namespace dt {

// Returns whether this end of a program looks like its own fault: it came soon and by itself,
// without a report, a checkpoint or other progress.
bool IsEarly(const Turn& turn, const LiveAttempt& attempt, const RankEnd& end);
// Returns why no other attempt follows an early end; nullopt: another may help. The trial ended in
// the same way before: on another worker, or no other worker fits, or two times.
std::optional<std::string> EndsAlike(const State& state, const LiveAttempt& attempt,
                                     const RankEnd& end);
// Moves `decision` to another worker, on another host if one is free, if the trial's newest attempt
// crashed there: that shows whether trial or worker is at fault. Only for gangs of one slot.
Decision AwayFromCrash(const State& state, TrialId id, const SlotPool& pool,
                       const std::string& storage_id, Decision decision);
// Returns why the experiment's other trials need not be tried after the failure of this one;
// nullopt: some may succeed.
std::optional<std::string> AllFailAlike(const Turn& turn, TrialId id);

}  // namespace dt
