// pools.h: the pools of slots, kept up to date as workers come, go, take work and leave work.
//
// Role:  live state only. A slot is in every pool whose constraint its worker meets. A slot that a
//        reservation keeps is free only in the reservation's own pool.
// Cost:  O(pools × log slots) per change.
// Tests: tests/coordinator/core/schedule_test.cc, tests/sim
#pragma once

#include <optional>

#include "coordinator/core/model/state.h"

namespace dt {

// Returns the pool of a constraint. Makes it, with the slots that meet it, if it does not exist.
SlotPool& EnsurePool(LiveState& live, const Constraint& constraint);
// Returns nullptr if no waiting trial asks for the pool.
const SlotPool* FindPool(const LiveState& live, const Constraint& constraint);
// Returns the placement of any demand, without changing anything.
Decision PlaceIn(const LiveState& live, const Demand& demand);

// Sets the use of the worker's slot; nullopt: it is no slot. Returns whether this freed it.
bool SetSlot(LiveState& live, const Worker& worker, std::optional<SlotUse> use);
// Returns the reservation that keeps the worker's slot, or nullptr.
Reservation* KeeperOf(LiveState& live, WorkerIndex worker);
// Returns whether the reservation lacks a slot and could use this one.
bool Wants(const LiveState& live, const Reservation& reservation, const Worker& worker);
// Adds the slot to the reservation. REQUIRES: no reservation keeps it.
void Keep(LiveState& live, Reservation& reservation, const Worker& worker, SlotUse use);
// Ends the reservation; its free slots are free for everybody.
void Dissolve(LiveState& live, size_t reservation);

}  // namespace dt
