// pools.cc: keeps which slots are free in which pools.
#include "coordinator/core/keep/pools.h"

#include <algorithm>
#include <utility>

#include "common/limits.h"
#include "common/mutant.h"

namespace dt {
namespace {

Slot SlotOf(const Worker& worker) {
  return {worker.index, worker.name, worker.hello.host(), worker.hello.storage_id()};
}

// Returns the pool with all slots of the device.
const SlotPool& BasePool(const LiveState& live, const Worker& worker) {
  return PoolOf(live, DeviceKindOf(worker.hello.device()));
}

// Drops pools for which no trial waits and that have no reservation. Up to a bound they are kept
// for later trials.
void DropUnused(LiveState& live) {
  if (live.pools.size() < limits::kConstraints) return;
  std::erase_if(live.pools, [&live](const auto& entry) {
    if (entry.first == AnyOf(entry.first.device)) return false;
    const bool waits = std::any_of(live.lines.begin(), live.lines.end(), [&](const auto& line) {
      return line.first.constraint == entry.first;
    });
    // The next size of a saving gang is reserved, but waits in no line.
    const bool reserved =
        std::any_of(live.reservations.begin(), live.reservations.end(),
                    [&](const Reservation& each) { return each.shape.constraint == entry.first; });
    return !waits && !reserved;
  });
}

void Leave(SlotPool& pool, WorkerIndex worker) {
  if (!pool.Contains(worker)) return;
  pool.Remove(worker);
  ++pool.version;
}

void SetUse(SlotPool& pool, WorkerIndex worker, SlotUse use) {
  if (pool.IsFree(worker) == (use == SlotUse::kFree)) return;
  pool.SetUse(worker, use);
  if (use == SlotUse::kFree) ++pool.version;
}

SlotPool MakePool(const LiveState& live, const Constraint& constraint) {
  SlotPool pool;
  for (const Worker& worker : live.workers) {
    if (worker.index == kNoWorker) continue;
    const SlotPool& base = BasePool(live, worker);
    if (!base.Contains(worker.index) || !Meets(constraint, worker.hello)) continue;
    pool.Add(SlotOf(worker), base.IsFree(worker.index) ? SlotUse::kFree : SlotUse::kBusy);
  }
  return pool;
}

// Sets the use of the slot in all pools except those of reservations.
void SetEverywhere(LiveState& live, const Worker& worker, SlotUse use) {
  const bool joins = !BasePool(live, worker).Contains(worker.index);
  for (auto& [constraint, pool] : live.pools) {
    if (pool.Contains(worker.index)) {
      SetUse(pool, worker.index, use);
    } else if (joins && Meets(constraint, worker.hello)) {
      pool.Add(SlotOf(worker), use);
      ++pool.version;
    }
  }
}

}  // namespace

const SlotPool* FindPool(const LiveState& live, const Constraint& constraint) {
  const auto found = live.pools.find(constraint);
  return found == live.pools.end() ? nullptr : &found->second;
}

Decision PlaceIn(const LiveState& live, const Demand& demand) {
  if (const SlotPool* known = FindPool(live, demand.shape.constraint)) return Place(*known, demand);
  return Place(MakePool(live, demand.shape.constraint), demand);
}

SlotPool& EnsurePool(LiveState& live, const Constraint& constraint) {
  const auto known = live.pools.find(constraint);
  if (known != live.pools.end()) return known->second;
  DropUnused(live);
  return live.pools.emplace(constraint, MakePool(live, constraint)).first->second;
}

Reservation* KeeperOf(LiveState& live, WorkerIndex worker) {
  for (Reservation& reservation : live.reservations) {
    if (reservation.slots.Contains(worker)) return &reservation;
  }
  return nullptr;
}

bool Wants(const LiveState& live, const Reservation& reservation, const Worker& worker) {
  if (Mutated(Mutant::kHeldSlotsGiven)) return false;
  const auto wanted = static_cast<size_t>(reservation.shape.slots);
  const size_t kept = reservation.slots.connected();
  if (kept >= wanted || reservation.slots.Contains(worker.index)) return false;
  const SlotPool* pool = FindPool(live, reservation.shape.constraint);
  if (pool == nullptr || !pool->Contains(worker.index)) return false;
  if (!reservation.host.empty() && worker.hello.host() != reservation.host) return false;
  // The last place is kept for a slot that sees the checkpoint, if no slot does yet.
  const std::string& storage = reservation.storage_id;
  return storage.empty() || kept + 1 < wanted || worker.hello.storage_id() == storage ||
         reservation.slots.ConnectedWithStorage(storage) > 0;
}

void Keep(LiveState& live, Reservation& reservation, const Worker& worker, SlotUse use) {
  reservation.slots.Add(SlotOf(worker), use);
  if (use == SlotUse::kFree) SetEverywhere(live, worker, SlotUse::kBusy);
}

bool SetSlot(LiveState& live, const Worker& worker, std::optional<SlotUse> use) {
  Reservation* keeper = KeeperOf(live, worker.index);
  const SlotPool& base = BasePool(live, worker);
  if (!use.has_value()) {
    if (!base.Contains(worker.index)) return false;
    if (keeper != nullptr) keeper->slots.Remove(worker.index);
    for (auto& [constraint, pool] : live.pools) Leave(pool, worker.index);
    live.placement_due = true;  // a gang that is now too large blocks nobody any more
    return false;
  }
  const bool free = *use == SlotUse::kFree;
  if (keeper != nullptr) {
    if (keeper->slots.IsFree(worker.index) == free) return false;
    keeper->slots.SetUse(worker.index, *use);
    live.placement_due = live.placement_due || free;
    return free;
  }
  if (base.Contains(worker.index) && base.IsFree(worker.index) == free) return false;
  SetEverywhere(live, worker, *use);
  if (!free) return false;
  live.workers[worker.index].idle_since = live.event_at;
  live.placement_due = true;
  for (Reservation& reservation : live.reservations) {
    if (!Wants(live, reservation, worker)) continue;
    Keep(live, reservation, worker, SlotUse::kFree);
    break;
  }
  return true;
}

void Dissolve(LiveState& live, size_t reservation) {
  const Reservation ended = std::move(live.reservations[reservation]);
  live.reservations.erase(live.reservations.begin() + static_cast<std::ptrdiff_t>(reservation));
  for (const WorkerIndex worker : ended.slots.Free()) {
    SetSlot(live, live.workers[worker], SlotUse::kFree);
  }
  live.placement_due = true;
}

}  // namespace dt
