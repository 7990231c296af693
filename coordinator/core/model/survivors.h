// survivors.h: the state that surviving ranks of a broken gang hold, and those that save it.
//
// Role:  pure.
// Tests: tests/coordinator/core/rescue_test.cc, tests/coordinator/core/replica_rescue_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "common/replicas.h"
#include "coordinator/core/model/live.h"

namespace dt {

// Returns how the ranks of such a gang hold replicas of the state, each complete between two steps,
// which its ranks can save without the others. nullopt: a dead rank leaves no replica.
std::optional<ReplicaShape> ReplicasOf(const v1::Spec& spec, size_t ranks);
// Returns whether the end leaves survivors whose state is sound: a peer died, is silent or hangs.
// If a trainer itself reports an error, such as unequal parameters, its peers' state is in doubt.
bool LeavesSurvivors(const RankEnd& end);
// Returns the newest step from whose checkpoint a resume would begin; 0: none.
uint64_t ResumeStep(const Trial& trial, const AttemptId& id);
// Returns how long survivors may take to report what they hold. A rank notices a failed collective
// only once its own computation is over, and after a restart workers have to connect again.
absl::Duration HoldLimit(const LiveState& live, const LiveAttempt& attempt, absl::Duration now);
// Returns how long a save may take, from the time of the trial's newest checkpoint.
absl::Duration SaveLimit(const Trial& trial);

// Returns whether the rank's worker is connected, and the rank has not ended.
bool IsHere(const LiveState& live, const RankState& rank);
// Returns whether a worker that is not lost has yet to connect since this coordinator started.
bool AwaitsConnections(const LiveState& live, const LiveAttempt& attempt);
// Returns whether the rank is here, or its worker has yet to connect after a restart, and it may
// report a state that it holds. A GPU has none: it enqueues the update before it knows that a
// collective failed.
bool MayHold(const LiveState& live, const RankState& rank);
// Returns whether all ranks of a replica may hold a state, and some have yet to report it.
bool IsAwaited(const LiveState& live, const LiveAttempt& attempt);
// Returns whether a replica may be saved: all of its ranks may hold it, or its first one saves it.
bool HasSurvivors(const LiveState& live, const LiveAttempt& attempt);
// Returns the rank that saves, the first of its replica: one that does so already, otherwise that
// of the first replica whose ranks all hold the newest step. nullopt: no replica is left with more
// than the newest checkpoint, or ranks with the same place and step hold unequal parameters.
std::optional<int32_t> ChooseSaver(const LiveState& live, const LiveAttempt& attempt,
                                   const Trial& trial);
// Returns whether the rank is of the replica that is saved. REQUIRES: attempt.rescue.
bool TakesPart(const LiveAttempt& attempt, int32_t rank);
// Returns, for a person, how far the rescue is. REQUIRES: attempt.rescue.
std::string RescueText(const LiveAttempt& attempt);

}  // namespace dt
