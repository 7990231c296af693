// placement.h: chooses slots for a gang.
//
// Role:      pure: the same free slots and demand give the same Decision. No clock, no randomness.
// Cost:      O(hosts used × log slots) a decision; the pool is kept up to date by Add and Remove.
//            Where ranks that share layers cannot be kept together, O(hosts) more.
// Invariant: no slot twice; a gang gets all its slots or none; ties go to the smaller name. Ranks
//            that share layers are on one host if any choice of slots allows it.
// Errors:    none; a gang that is not placed gets a reason that a user can read.
// Tests:     tests/coordinator/core/placement_test.cc, tests/sim
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "coordinator/core/model/shape.h"

namespace dt {

using WorkerIndex = uint32_t;  // place of a worker in LiveState::workers
inline constexpr WorkerIndex kNoWorker = UINT32_MAX;

// Connected worker, as placement sees it.
struct Slot {
  WorkerIndex worker = kNoWorker;
  std::string name;
  std::string host;
  std::string storage_id;
};

enum class SlotUse { kFree, kBusy };

// Slots that meet one constraint: the connected ones, and the free ones among them.
class SlotPool {
 public:
  SlotPool() = default;
  SlotPool(SlotPool&&) = default;  // not copied: its indices point into it
  SlotPool& operator=(SlotPool&&) = default;

  // REQUIRES: the worker is not in the pool.
  void Add(Slot slot, SlotUse use);
  // REQUIRES: the worker is in the pool.
  void Remove(WorkerIndex worker);
  void SetUse(WorkerIndex worker, SlotUse use);

  bool Contains(WorkerIndex worker) const { return slots_.count(worker) > 0; }
  bool IsFree(WorkerIndex worker) const;
  size_t connected() const { return slots_.size(); }
  size_t free() const { return free_; }
  // Slots of the host that has the most of them.
  size_t connected_on_largest_host() const {
    return hosts_by_connected_.empty() ? 0 : hosts_by_connected_.rbegin()->first;
  }
  size_t free_on_roomiest_host() const {
    return hosts_by_free_.empty() ? 0 : hosts_by_free_.rbegin()->first;
  }
  size_t ConnectedWithStorage(const std::string& storage_id) const;
  // Returns the free slot that sees this storage and has the smallest name, or kNoWorker.
  WorkerIndex FreeWithStorage(const std::string& storage_id) const;
  // Returns such a slot on a host with so many free slots.
  WorkerIndex FreeWithStorageOn(const std::string& storage_id, size_t host_free) const;
  // In order of WorkerIndex.
  std::vector<WorkerIndex> Members() const;
  std::vector<WorkerIndex> Free() const;
  const Slot& GetSlot(WorkerIndex worker) const { return slots_.at(worker).slot; }

  // Rises when a slot is freed, joins or leaves. While it is the same, a demand that did not fit
  // does not fit.
  uint64_t version = 1;

 private:
  friend class GangBuilder;
  using NamedSlot = std::pair<std::string_view, WorkerIndex>;  // view into slots_
  struct Entry {
    Slot slot;
    SlotUse use = SlotUse::kBusy;
  };
  struct Storage {
    size_t connected = 0;
    absl::btree_set<NamedSlot> free;
  };
  void CountHost(const std::string& host, ptrdiff_t change);
  void MarkFree(const Entry& entry);
  void MarkBusy(const Entry& entry);

  std::map<WorkerIndex, Entry> slots_;  // nodes do not move: views point into them
  std::map<std::string, absl::btree_set<NamedSlot>, std::less<>> free_by_host_;
  absl::btree_set<std::pair<size_t, std::string_view>> hosts_by_free_;  // hosts with a free slot
  std::map<std::string, Storage, std::less<>> storages_;
  std::map<std::string, size_t, std::less<>> connected_by_host_;
  absl::btree_set<std::pair<size_t, std::string_view>> hosts_by_connected_;
  size_t free_ = 0;
};

// Needs of one gang.
struct Demand {
  Shape shape;
  std::string storage_id;  // rank 0 must see it; "": anywhere
  // Upper bound on the size of an elastic gang, however many slots are free.
  int32_t most = std::numeric_limits<int32_t>::max();
};

enum class Verdict : uint8_t {
  kPlaced,
  kNeverFits,      // more slots than are connected, or on one host
  kNotEnoughFree,  // waits for slots
  kStorageAbsent,  // no connected worker sees the storage
  kStorageBusy,    // the workers that see it are busy
};

struct Decision {
  Verdict verdict = Verdict::kNeverFits;
  std::vector<WorkerIndex> gang;  // by rank; ranks of one host are neighbours
  size_t torn = 0;                // groups of ranks that share layers and are on several hosts
  std::string reason;
};

// Counts groups of `together` neighbouring ranks that are on several hosts. `hosts` is by rank.
size_t CountTorn(const std::vector<std::string_view>& hosts, size_t together);

// Chooses slots. An elastic gang gets its preferred size, or the largest smaller size that fits.
Decision Place(const SlotPool& pool, const Demand& demand);

}  // namespace dt
