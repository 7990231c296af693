#include "coordinator/core/keep/slots.h"

#include <algorithm>
#include <optional>

#include "common/limits.h"
#include "common/mutant.h"
#include "coordinator/core/keep/held.h"
#include "coordinator/core/keep/pools.h"
#include "coordinator/core/keep/queue.h"
#include "coordinator/core/model/silence.h"

namespace dt {

namespace {

absl::Duration EndOf(const LiveState& live, const Worker& worker, bool others_heard) {
  const bool endless =
      Mutated(Mutant::kLeaseForEver) || (Mutated(Mutant::kSilentClientKeeps) && IsClient(worker));
  if (endless) return worker.last_heard + absl::Hours(1000);
  const Patience patience = PatienceOf(SignsOf(worker));
  absl::Duration own = worker.last_heard + (others_heard ? patience.silence : patience.alone);
  own = std::max(own, live.lease_floor);
  if (!Mutated(Mutant::kClosedIsSilent)) own = std::min(own, worker.closed_at + patience.closed);
  return std::max(own, AliveByItsGang(worker).value_or(own));
}

}  // namespace

absl::Duration LeaseEnd(const LiveState& live, const Worker& worker) {
  return EndOf(live, worker, AreOthersHeard(live, worker) || Mutated(Mutant::kSilenceAlone));
}

absl::Duration EarliestLeaseEnd(const LiveState& live, const Worker& worker) {
  return EndOf(live, worker, true);
}

void UpdateSlot(State& state, Worker& worker) {
  const bool member =
      worker.presence != Presence::kLost && !worker.draining && !IsHeld(state, worker.name);
  if (!member) {
    SetSlot(state.live, worker, std::nullopt);
    return;
  }
  const SlotUse use = worker.presence == Presence::kConnected && worker.foreign.empty() &&
                              (worker.attempt == nullptr || Mutated(Mutant::kBusySlotIsFree))
                          ? SlotUse::kFree
                          : SlotUse::kBusy;
  if (!SetSlot(state.live, worker, use)) return;
  WakeStorageWaiters(state, worker.hello.storage_id());
}

}  // namespace dt
