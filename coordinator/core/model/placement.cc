// placement.cc: the indices of the pool and the choice of a gang: on the one host where the fewest
// slots remain free, else over the fewest hosts.
#include "coordinator/core/model/placement.h"

#include <algorithm>
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
  CountHost(place->second.slot.host, 1);
  SetUse(worker, use);
}

void SlotPool::Remove(WorkerIndex worker) {
  SetUse(worker, SlotUse::kBusy);
  const auto place = slots_.find(worker);
  DT_CHECK(place != slots_.end());
  const auto storage = storages_.find(place->second.slot.storage_id);
  if (--storage->second.connected == 0) storages_.erase(storage);
  CountHost(place->second.slot.host, -1);
  slots_.erase(place);
}

void SlotPool::CountHost(const std::string& host, ptrdiff_t change) {
  const auto counted = connected_by_host_.try_emplace(host, 0).first;
  hosts_by_connected_.erase({counted->second, counted->first});
  counted->second += static_cast<size_t>(change);
  if (counted->second == 0) {
    connected_by_host_.erase(counted);
  } else {
    hosts_by_connected_.insert({counted->second, counted->first});
  }
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

WorkerIndex SlotPool::FreeWithStorageOn(const std::string& storage_id, size_t host_free) const {
  const auto found = storages_.find(storage_id);
  if (found == storages_.end()) return kNoWorker;
  for (const auto& [name, worker] : found->second.free) {
    const std::string& host = slots_.at(worker).slot.host;
    if (free_by_host_.find(host)->second.size() >= host_free) return worker;
  }
  return kNoWorker;
}

std::vector<WorkerIndex> SlotPool::Members() const {
  std::vector<WorkerIndex> members;
  for (const auto& [worker, entry] : slots_) members.push_back(worker);
  return members;
}

std::vector<WorkerIndex> SlotPool::Free() const {
  std::vector<WorkerIndex> free;
  for (const auto& [worker, entry] : slots_) {
    if (entry.use == SlotUse::kFree) free.push_back(worker);
  }
  return free;
}

// Takes slots for one gang; REQUIRES: enough are free.
class GangBuilder {
 public:
  // Builds with a multiple of `together` slots per host, so that so many neighbours share a host.
  GangBuilder(const SlotPool& pool, size_t size, size_t together)
      : pool_(pool), size_(size), together_(together) {}

  // Builds over the fewest hosts. `anchor`, if any, becomes rank 0, and its host is used first; it
  // has `together` free slots. Returns fewer if hosts have too few multiples of `together`.
  std::vector<WorkerIndex> Build(WorkerIndex anchor) {
    gang_.clear();
    hosts_ = 0;
    anchor_host_.reset();
    if (anchor != kNoWorker) {
      anchor_host_ = pool_.slots_.at(anchor).slot.host;
      TakeFrom(*anchor_host_, anchor);
    }
    // Goes from the most free slots down; among equal hosts the smaller name is first.
    const auto& hosts = pool_.hosts_by_free_;
    for (auto equal_end = hosts.end(); gang_.size() < size_ && equal_end != hosts.begin();) {
      const size_t count = std::prev(equal_end)->first;
      if (count < together_) break;
      const auto equal = hosts.lower_bound({count, std::string_view()});
      for (auto host = equal; host != equal_end && gang_.size() < size_; ++host) {
        if (host->second == anchor_host_) continue;
        const bool rest_fits = count >= size_ - gang_.size();
        TakeFrom(rest_fits ? BestFit(*host) : host->second, kNoWorker);
      }
      equal_end = equal;
    }
    return gang_;
  }

  // Returns the slot for rank 0: one that sees the storage on the hosts of the gang, else any free
  // one that sees it. Returns kNoWorker if no such host can give `together` slots.
  WorkerIndex Anchor(const std::string& storage_id) {
    for (const WorkerIndex worker : Build(kNoWorker)) {
      if (pool_.slots_.at(worker).slot.storage_id == storage_id) return worker;
    }
    if (together_ == 1) return pool_.FreeWithStorage(storage_id);
    return pool_.FreeWithStorageOn(storage_id, together_);
  }

  size_t hosts() const { return hosts_; }

 private:
  // Returns the host with the fewest free slots that has room for the rest of the gang. `candidate`
  // has room; hosts with fewer slots than it are untouched yet.
  std::string_view BestFit(const std::pair<size_t, std::string_view>& candidate) const {
    auto found = pool_.hosts_by_free_.lower_bound({size_ - gang_.size(), std::string_view()});
    if (found->second == anchor_host_) ++found;
    return found->first < candidate.first ? found->second : candidate.second;
  }

  void TakeFrom(std::string_view host, WorkerIndex first) {
    ++hosts_;
    const auto& slots = pool_.free_by_host_.find(host)->second;
    const size_t end = std::min(size_, gang_.size() + slots.size() / together_ * together_);
    if (first != kNoWorker) gang_.push_back(first);
    for (const auto& [name, worker] : slots) {
      if (gang_.size() >= end) return;
      if (worker != first) gang_.push_back(worker);
    }
  }

  const SlotPool& pool_;
  const size_t size_;
  const size_t together_;
  std::vector<WorkerIndex> gang_;
  std::optional<std::string_view> anchor_host_;
  size_t hosts_ = 0;
};

namespace {

// Size of a gang, with its storage.
struct Gang {
  const Demand& demand;
  size_t slots = 0;
  bool single() const { return demand.shape.single_node && !Mutated(Mutant::kAnyHost); }
};

// Returns the free slot for rank 0 of a gang that needs a storage; kNoWorker if no slot fits now.
WorkerIndex HolderOf(const SlotPool& pool, const Gang& gang) {
  const std::string& storage = gang.demand.storage_id;
  if (!gang.demand.shape.single_node) return pool.FreeWithStorage(storage);
  return pool.FreeWithStorageOn(storage, gang.slots);
}

Verdict Judge(const SlotPool& pool, const Gang& gang) {
  if (gang.slots > (gang.single() ? pool.connected_on_largest_host() : pool.connected())) {
    return Verdict::kNeverFits;
  }
  const std::string& storage = gang.demand.storage_id;
  if (!storage.empty() && pool.ConnectedWithStorage(storage) == 0) return Verdict::kStorageAbsent;
  if (gang.slots > (gang.single() ? pool.free_on_roomiest_host() : pool.free())) {
    return Verdict::kNotEnoughFree;
  }
  if (!storage.empty() && HolderOf(pool, gang) == kNoWorker) return Verdict::kStorageBusy;
  return Verdict::kPlaced;
}

// Returns the preferred size, else the largest that fits, or the least if no size fits.
Gang ChooseSize(const SlotPool& pool, const Demand& demand) {
  const Shape& shape = demand.shape;
  Gang gang{demand, static_cast<size_t>(shape.slots)};
  if (!shape.elastic.has_value()) return gang;
  const size_t there = gang.single() ? pool.free_on_roomiest_host() : pool.free();
  int32_t size = std::min({shape.slots, demand.most, static_cast<int32_t>(there)});
  for (size = shape.SizeWithin(size); size > 0; size = shape.SizeWithin(size - 1)) {
    gang.slots = static_cast<size_t>(size);
    if (Judge(pool, gang) == Verdict::kPlaced) return gang;
  }
  gang.slots = static_cast<size_t>(shape.least());
  return gang;
}

std::string LackText(const SlotPool& pool, const Shape& shape) {
  const std::string device = RequirementText(shape.constraint).empty()
                                 ? std::string(Name(shape.constraint.device))
                                 : "such";
  std::string text =
      absl::StrCat("needs ", ShapeText(shape), "; ", pool.connected(), " ", device,
                   pool.connected() == 1 ? " worker connected, " : " workers connected, ");
  if (!shape.single_node) return absl::StrCat(text, pool.free(), " free");
  return absl::StrCat(text, "at most ", pool.connected_on_largest_host(), " on one host, ",
                      pool.free_on_roomiest_host(), " of one host free");
}

// Returns the number of ranks that share a layer, or 1 if the gang cannot be split into groups.
size_t TogetherOf(const Gang& gang) {
  const auto together = static_cast<size_t>(gang.demand.shape.together);
  return gang.slots % together == 0 && !Mutated(Mutant::kLayersTorn) ? together : 1;
}

struct Built {
  std::vector<WorkerIndex> workers;  // by rank; fewer than needed: it does not fit so
  size_t hosts = 0;
};

// Builds the gang. REQUIRES: it fits if no ranks are kept together.
Built Build(const SlotPool& pool, const Gang& gang, size_t together) {
  GangBuilder builder(pool, gang.slots, together);
  const std::string& storage = gang.demand.storage_id;
  WorkerIndex anchor = kNoWorker;
  if (!storage.empty()) {
    const bool single = gang.demand.shape.single_node;
    anchor = single ? HolderOf(pool, gang) : builder.Anchor(storage);
    if (anchor == kNoWorker) return {};
  }
  std::vector<WorkerIndex> workers = builder.Build(anchor);
  return {std::move(workers), builder.hosts()};
}

std::vector<std::string_view> HostsOf(const SlotPool& pool, const std::vector<WorkerIndex>& gang) {
  std::vector<std::string_view> hosts;
  for (const WorkerIndex worker : gang) hosts.push_back(pool.GetSlot(worker).host);
  return hosts;
}

std::string TogetherText(size_t groups, size_t torn, int32_t together) {
  const std::string of = absl::StrCat("ranks that share layers (parallel.tensor ", together, ")");
  if (torn == 0) return absl::StrCat(", each group of ", of, " on one of them");
  return absl::StrCat("; ", torn, " of ", groups, " groups of ", of, torn == 1 ? " is" : " are",
                      " on several hosts, for want of multiples of ", together, " on each");
}

}  // namespace

size_t CountTorn(const std::vector<std::string_view>& hosts, size_t together) {
  size_t torn = 0;
  // Ranks of one host are neighbours: a group is on one host if its first and last rank are.
  for (size_t first = 0; first + together <= hosts.size(); first += together) {
    if (hosts[first + together - 1] != hosts[first]) ++torn;
  }
  return torn;
}

Decision Place(const SlotPool& pool, const Demand& demand) {
  Decision decision;
  const Gang gang = ChooseSize(pool, demand);
  decision.verdict = Judge(pool, gang);
  if (decision.verdict != Verdict::kPlaced) {
    decision.reason = LackText(pool, demand.shape);
    return decision;
  }
  const size_t together = TogetherOf(gang);
  Built built = Build(pool, gang, together);
  if (built.workers.size() < gang.slots) {
    built = Build(pool, gang, 1);
    decision.torn = CountTorn(HostsOf(pool, built.workers), together);
  }
  decision.gang = std::move(built.workers);
  if (Mutated(Mutant::kShortGang) && gang.slots > 1) decision.gang.pop_back();
  decision.reason = absl::StrCat(gang.slots, " ", View(Name(demand.shape.constraint.device)),
                                 gang.slots == 1 ? " slot" : " slots", " on ", built.hosts,
                                 built.hosts == 1 ? " host" : " hosts");
  if (gang.slots < static_cast<size_t>(demand.shape.slots)) {
    absl::StrAppend(&decision.reason, " for want of ", demand.shape.slots);
  }
  if (together > 1 && built.hosts > 1) {
    absl::StrAppend(&decision.reason,
                    TogetherText(gang.slots / together, decision.torn, demand.shape.together));
  }
  return decision;
}

}  // namespace dt
