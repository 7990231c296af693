// placement.cc: the pool's indices and the choice of a gang: on one host where it leaves the least
// behind, else over the fewest hosts.
#include "coordinator/core/placement.h"

#include <iterator>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/mutant.h"
#include "common/view.h"

namespace dt {
void SlotPool::Add(Slot slot, SlotUse use) {
  const WorkerIndex worker = slot.worker;
  const auto [place, inserted] = slots_.emplace(worker, Entry{std::move(slot), SlotUse::kBusy});
  DT_CHECK(inserted);
  ++storages_[place->second.slot.storage_id].connected;
  SetUse(worker, use);
}

void SlotPool::Remove(WorkerIndex worker) {
  SetUse(worker, SlotUse::kBusy);
  const auto place = slots_.find(worker);
  DT_CHECK(place != slots_.end());
  const auto storage = storages_.find(place->second.slot.storage_id);
  if (--storage->second.connected == 0) storages_.erase(storage);
  slots_.erase(place);
}

void SlotPool::SetUse(WorkerIndex worker, SlotUse use) {
  const auto place = slots_.find(worker);
  DT_CHECK(place != slots_.end());
  if (place->second.use == use) return;
  place->second.use = use;
  if (use == SlotUse::kFree) {
    MarkFree(place->second);
  } else {
    MarkBusy(place->second);
  }
}

void SlotPool::MarkFree(const Entry& entry) {
  const NamedSlot named{entry.slot.name, entry.slot.worker};
  const auto host = free_by_host_.try_emplace(entry.slot.host).first;
  if (!host->second.empty()) hosts_by_free_.erase({host->second.size(), host->first});
  host->second.insert(named);
  hosts_by_free_.insert({host->second.size(), host->first});
  storages_[entry.slot.storage_id].free.insert(named);
  ++free_;
}

void SlotPool::MarkBusy(const Entry& entry) {
  const NamedSlot named{entry.slot.name, entry.slot.worker};
  const auto host = free_by_host_.find(entry.slot.host);
  hosts_by_free_.erase({host->second.size(), host->first});
  host->second.erase(named);
  if (host->second.empty()) {
    free_by_host_.erase(host);
  } else {
    hosts_by_free_.insert({host->second.size(), host->first});
  }
  storages_[entry.slot.storage_id].free.erase(named);
  --free_;
}

bool SlotPool::IsFree(WorkerIndex worker) const {
  const auto place = slots_.find(worker);
  return place != slots_.end() && place->second.use == SlotUse::kFree;
}

size_t SlotPool::ConnectedWithStorage(const std::string& storage_id) const {
  const auto found = storages_.find(storage_id);
  return found == storages_.end() ? 0 : found->second.connected;
}

WorkerIndex SlotPool::FreeWithStorage(const std::string& storage_id) const {
  const auto found = storages_.find(storage_id);
  if (found == storages_.end() || found->second.free.empty()) return kNoWorker;
  return found->second.free.begin()->second;
}

// Takes slots for one gang; REQUIRES: enough are free.
class GangBuilder {
 public:
  GangBuilder(const SlotPool& pool, size_t size) : pool_(pool), size_(size) {}

  // Over the fewest hosts; `anchor`, if any, becomes rank 0 and its host is used first.
  std::vector<WorkerIndex> Build(WorkerIndex anchor) {
    gang_.clear();
    hosts_ = 0;
    anchor_host_.reset();
    if (anchor != kNoWorker) {
      anchor_host_ = pool_.slots_.at(anchor).slot.host;
      gang_.push_back(anchor);
      TakeFrom(*anchor_host_, anchor);
    }
    // From the hosts with the most free slots down; of equal ones the smaller name first.
    const auto& hosts = pool_.hosts_by_free_;
    for (auto group_end = hosts.end(); gang_.size() < size_;) {
      const size_t count = std::prev(group_end)->first;
      const auto group = hosts.lower_bound({count, std::string_view()});
      for (auto host = group; host != group_end && gang_.size() < size_; ++host) {
        if (host->second == anchor_host_) continue;
        const bool rest_fits = count >= size_ - gang_.size();
        TakeFrom(rest_fits ? BestFit(*host) : host->second, kNoWorker);
      }
      group_end = group;
    }
    return gang_;
  }

  // The slot for rank 0: one that sees the storage where the gang would go anyway, else any free
  // one. REQUIRES: there is a free one.
  WorkerIndex Anchor(const std::string& storage_id) {
    for (const WorkerIndex worker : Build(kNoWorker)) {
      if (pool_.slots_.at(worker).slot.storage_id == storage_id) return worker;
    }
    return pool_.FreeWithStorage(storage_id);
  }

  size_t hosts() const { return hosts_; }

 private:
  // The host with the fewest free slots that has room for the rest of the gang. `candidate` has;
  // hosts with fewer slots than it are untouched yet.
  std::string_view BestFit(const std::pair<size_t, std::string_view>& candidate) const {
    auto found = pool_.hosts_by_free_.lower_bound({size_ - gang_.size(), std::string_view()});
    if (found->second == anchor_host_) ++found;
    return found->first < candidate.first ? found->second : candidate.second;
  }

  void TakeFrom(std::string_view host, WorkerIndex already) {
    ++hosts_;
    for (const auto& [name, worker] : pool_.free_by_host_.find(host)->second) {
      if (gang_.size() == size_) return;
      if (worker != already) gang_.push_back(worker);
    }
  }

  const SlotPool& pool_;
  const size_t size_;
  std::vector<WorkerIndex> gang_;
  std::optional<std::string_view> anchor_host_;
  size_t hosts_ = 0;
};

Decision Place(const SlotPool& pool, const Demand& demand) {
  Decision decision;
  const size_t wanted = static_cast<size_t>(demand.slots.slots);
  const absl::string_view device = View(Name(demand.slots.device));
  const bool anchored = !demand.storage_id.empty();
  const WorkerIndex holder = anchored ? pool.FreeWithStorage(demand.storage_id) : kNoWorker;
  if (wanted > pool.connected()) {
    decision.verdict = Verdict::kNeverFits;
  } else if (anchored && pool.ConnectedWithStorage(demand.storage_id) == 0) {
    decision.verdict = Verdict::kStorageAbsent;
  } else if (wanted > pool.free()) {
    decision.verdict = Verdict::kNotEnoughFree;
  } else if (anchored && holder == kNoWorker) {
    decision.verdict = Verdict::kStorageBusy;
  } else {
    decision.verdict = Verdict::kPlaced;
    GangBuilder builder(pool, wanted);
    decision.gang = builder.Build(anchored ? builder.Anchor(demand.storage_id) : kNoWorker);
    if (Mutated(Mutant::kShortGang) && wanted > 1) decision.gang.pop_back();
    decision.reason = absl::StrCat(wanted, " ", device, wanted == 1 ? " slot" : " slots", " on ",
                                   builder.hosts(), builder.hosts() == 1 ? " host" : " hosts");
    return decision;
  }
  decision.reason = absl::StrCat(
      "needs ", wanted, " ", device, wanted == 1 ? " slot; " : " slots; ", pool.connected(), " ",
      device, pool.connected() == 1 ? " worker connected, " : " workers connected, ", pool.free(),
      " free");
  return decision;
}

}  // namespace dt
