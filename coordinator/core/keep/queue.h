// queue.h: waiting trials: their lines, their parking places, and whether they may start.
//
// Trials wait in lines, one per shape of demand (model/line.h). run/schedule.h takes them out.
//
// Tests: tests/coordinator/core/schedule_test.cc, quotas_test.cc
#pragma once

#include <cstdint>
#include <string>

#include "coordinator/core/model/turn.h"

namespace dt {

void Enqueue(State& state, TrialId id);
// Puts the experiment's ticket into its line while its search may propose more, else removes it.
void KeepTicket(State& state, ExperimentId id);
void Park(State& state, TrialId id, ParkedTrial parked);
// Takes the trial out of its line or parking place, if it is in one.
void Withdraw(State& state, TrialId id);
void Unpark(Turn& turn, TrialId id);
// Puts trials that wait for this storage back into their lines: a slot that sees it became free.
void WakeStorageWaiters(State& state, const std::string& storage_id);
// Notes that the trial joined the active trials of its experiment, or left them.
void NoteActive(State& state, TrialId id);
void NoteInactive(State& state, TrialId id);
// Returns how many more slots the experiment may hold (max_gpus_total, quotas).
int32_t SlotsLeft(const State& state, const Experiment& experiment);
// Returns whether the experiment may start a trial of this shape now, at least at the least size.
Gate GateOf(const State& state, const Experiment& experiment, const Shape& shape);
// Makes all lines be tried again, though nothing was freed.
void RetryLines(LiveState& live);
// Updates the experiment's place in its lines, and whether it may start anything.
void Rekey(State& state, ExperimentId id);
uint32_t SlotsHeld(const LiveState& live, ExperimentId id);
// Counts `change` more slots for the experiment, and updates the others under its quotas.
void NoteHeld(State& state, const Experiment& experiment, int32_t change);
// Counts anew after quotas, or the experiments that they cover, changed.
void FollowQuotas(State& state);

}  // namespace dt
