// pools.h: the pools that slots are in, kept as workers come, go, and take and leave work.
//
// Role:  live state alone. A slot is in every pool whose constraint its worker meets. One that a
//        reservation keeps is in none of them free: it is free in the reservation's own.
// Cost:  O(pools × log slots) a change.
// Tests: tests/coordinator/core/schedule_test.cc, tests/sim
#pragma once

#include <optional>

#include "coordinator/core/model/state.h"

namespace dt {

// The pool of a constraint; made, with the slots that meet it, if there is none yet.
SlotPool& EnsurePool(LiveState& live, const Constraint& constraint);
// nullptr: nothing that waits asks for it.
const SlotPool* FindPool(const LiveState& live, const Constraint& constraint);
// What fits, of whatever constraint: nothing is changed by asking.
Decision PlaceIn(const LiveState& live, const Demand& demand);

// What the worker's slot is good for now; nullopt: it is no slot. Whether it was freed by this.
bool SetSlot(LiveState& live, const Worker& worker, std::optional<SlotUse> use);
// The reservation that keeps the worker's slot, or nullptr.
Reservation* KeeperOf(LiveState& live, WorkerIndex worker);
// Whether the reservation could use the slot, and lacks one.
bool Wants(const LiveState& live, const Reservation& reservation, const Worker& worker);
// The slot joins the reservation. REQUIRES: nobody keeps it.
void Keep(LiveState& live, Reservation& reservation, const Worker& worker, SlotUse use);
// The reservation ends; its free slots are free to all.
void Dissolve(LiveState& live, size_t reservation);

}  // namespace dt
