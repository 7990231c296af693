// queue.h: trials that wait: their lines, their parking places, and which of them may start.
//
// Trials wait in lines, one a shape of demand (model/line.h). run/schedule.h takes them out.
//
// Tests: tests/coordinator/core/schedule_test.cc, quotas_test.cc
#pragma once

#include <cstdint>
#include <string>

#include "coordinator/core/model/turn.h"

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
// That the experiment may have beside those it holds (max_gpus_total, quotas).
int32_t SlotsLeft(const State& state, const Experiment& experiment);
// Whether the experiment may start a trial of this shape now, if of the least size.
Gate GateOf(const State& state, const Experiment& experiment, const Shape& shape);
// All lines are tried again, though nothing was freed.
void RetryLines(LiveState& live);
// Its place in its lines, and whether it may start anything, by what is recorded now.
void Rekey(State& state, ExperimentId id);
uint32_t SlotsHeld(const LiveState& live, ExperimentId id);
// Counts `change` more slots for the experiment. Others of its quotas may start now, or cannot.
void NoteHeld(State& state, const Experiment& experiment, int32_t change);
// Quotas, or what they cover, have changed.
void FollowQuotas(State& state);

}  // namespace dt
