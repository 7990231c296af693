// schedule.h: which trial goes next, from which checkpoint, and on which slots.
//
// Trials wait in lines, one a shape of demand (line.h). Of all that wait the first is tried, by
// priority, then by the slots that its experiment holds, then by age; what does not fit marks its
// line until a slot is freed. The first that fits the connected workers but not the free ones
// reserves slots (holding.h), so that large gangs do not starve, and has a smaller priority make
// room (yielding.h). Passed over are trials that the connected workers could never fit, those of an
// experiment that may start nothing more, and those that wait for the storage of their checkpoint.
//
// Cost:  O(lines) a trial placed or event that frees nothing, however many trials wait.
// Tests: tests/coordinator/core/schedule_test.cc
#pragma once

#include <cstdint>
#include <string>

#include "coordinator/core/turn.h"

namespace dt {

void Enqueue(State& state, TrialId id);
// Puts the experiment's ticket into its line while its search may propose more, else takes it out.
void KeepTicket(State& state, ExperimentId id);
void Park(State& state, TrialId id, ParkedTrial parked);
// Out of its line or parking place, if it is in one.
void Withdraw(State& state, TrialId id);
void Unpark(Turn& turn, TrialId id);
// A slot that sees this storage became free.
void WakeStorageWaiters(State& state, const std::string& storage_id);
// The trial joined the set of its experiment's active ones, or left it.
void NoteActive(State& state, TrialId id);
void NoteInactive(State& state, TrialId id);
// Tries that many at most; what is left stays due, and a Tick goes on with it at once.
void PlacePending(Turn& turn, int trials_max);
// That the experiment may have beside those it holds (max_gpus_total, quotas).
int32_t SlotsLeft(const State& state, const Experiment& experiment);
// Whether the experiment may start a trial of this shape now, if of the least size.
Gate GateOf(const State& state, const Experiment& experiment, const Shape& shape);
// All lines are tried again, though nothing was freed.
void RetryLines(LiveState& live);
// Its place in its lines, and whether it may start anything, by what is recorded now.
void Rekey(State& state, ExperimentId id);
uint32_t SlotsHeld(const LiveState& live, ExperimentId id);

}  // namespace dt
