// schedule.h: which trial goes next, from which checkpoint, and on which slots.
//
// First come, first served within a device kind. A trial that fits the connected workers but not
// the free ones holds its place: nothing overtakes it, so large gangs do not starve. Passed over
// are trials that the connected workers could never fit, those of an experiment at its
// max_concurrent, and those that wait for the storage of their checkpoint.
//
// Tests: tests/coordinator/core/schedule_test.cc
#pragma once

#include <optional>
#include <string>

#include "coordinator/core/turn.h"

namespace dt {

void Enqueue(State& state, TrialId id);
// Puts the experiment's ticket into its queue while its search may propose more, else takes it out.
void KeepTicket(State& state, ExperimentId id);
void Park(State& state, TrialId id, ParkedTrial parked);
// Out of its queue or parking place, if it is in one.
void Withdraw(State& state, TrialId id);
void Unpark(Turn& turn, TrialId id);
// A slot that sees this storage became free.
void WakeStorageWaiters(State& state, const std::string& storage_id);
// The trial left the set of its experiment's active ones.
void NoteInactive(State& state, TrialId id);
// Tries that many at most; what is left stays due, and a Tick goes on with it at once.
void PlacePending(Turn& turn, int trials_max);
Gate GateOf(const Experiment& experiment);
// Its trials that wait may go, or may not, by what is recorded now.
void SetGates(State& state, ExperimentId id);
// The first trial in line for this device kind that the connected workers could fit.
std::optional<TrialId> HeadOf(const LiveState& live, DeviceKind device);

}  // namespace dt
