// placement_test.cc: gangs on invented fleets, by hand and at random with fixed seeds.
#include "coordinator/core/model/placement.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace dt {
namespace {

const Constraint kCpu{DeviceKind::kCpu, false, {}, {}};

// Returns hosts of these sizes, "h0", "h1", …, all free, each with its own storage "s0", "s1", ….
SlotPool PoolOfHosts(const std::vector<int>& hosts) {
  SlotPool pool;
  WorkerIndex index = 0;
  for (size_t host = 0; host < hosts.size(); ++host) {
    for (int slot = 0; slot < hosts[host]; ++slot) {
      pool.Add({index++, absl::StrCat("h", host, "/", slot), absl::StrCat("h", host),
                absl::StrCat("s", host)},
               SlotUse::kFree);
    }
  }
  return pool;
}

TEST(PlacementTest, TakesTheHostThatIsLeftWithTheLeast) {
  const SlotPool pool = PoolOfHosts({4, 2, 3});
  EXPECT_EQ(Place(pool, {{kCpu, 2}, ""}).gang, (std::vector<WorkerIndex>{4, 5}));
  EXPECT_EQ(Place(pool, {{kCpu, 3}, ""}).gang, (std::vector<WorkerIndex>{6, 7, 8}));
}

TEST(PlacementTest, SpreadsOverTheFewestHostsWhenNoneIsLargeEnough) {
  const SlotPool pool = PoolOfHosts({2, 4, 2, 1});
  // Four on h1, and the remaining one on the smallest host that has it.
  EXPECT_EQ(Place(pool, {{kCpu, 5}, ""}).gang, (std::vector<WorkerIndex>{2, 3, 4, 5, 8}));
}

TEST(PlacementTest, PutsRankZeroWhereTheStorageIsSeen) {
  const SlotPool pool = PoolOfHosts({1, 4, 2});
  const Decision decision = Place(pool, {{kCpu, 3}, "s2"});
  ASSERT_EQ(decision.verdict, Verdict::kPlaced);
  EXPECT_EQ(decision.gang[0], 5u);
  EXPECT_EQ(decision.gang[1], 6u);
}

TEST(PlacementTest, ASharedStorageDoesNotSpoilThePacking) {
  SlotPool pool;
  for (WorkerIndex i = 0; i < 6; ++i) {
    pool.Add({i, absl::StrCat("w", i), i < 2 ? "a" : "b", "shared"}, SlotUse::kFree);
  }
  EXPECT_EQ(Place(pool, {{kCpu, 4}, "shared"}).gang, (std::vector<WorkerIndex>{2, 3, 4, 5}));
}

Demand SharingLayers(int32_t slots, int32_t together, const std::string& storage = "") {
  Demand demand{{kCpu, slots}, storage};
  demand.shape.together = together;
  return demand;
}

TEST(PlacementTest, RanksThatShareLayersAreOnOneHostEach) {
  const SlotPool pool = PoolOfHosts({3, 3, 1});
  const Decision decision = Place(pool, SharingLayers(4, 2));
  EXPECT_EQ(decision.gang, (std::vector<WorkerIndex>{0, 1, 3, 4}));
  EXPECT_EQ(decision.reason,
            "4 cpu slots on 2 hosts, each group of ranks that share layers (parallel.tensor 2) on "
            "one of them");
  EXPECT_EQ(Place(pool, SharingLayers(2, 2)).reason, "2 cpu slots on 1 host");
  // More hosts than a placement would need that split a group over two of them.
  EXPECT_EQ(Place(PoolOfHosts({5, 3, 2}), SharingLayers(8, 2)).gang,
            (std::vector<WorkerIndex>{0, 1, 2, 3, 5, 6, 8, 9}));
}

TEST(PlacementTest, RanksThatShareLayersStartOnSeveralHostsIfNeededAndReportIt) {
  const Decision decision = Place(PoolOfHosts({3, 1, 1}), SharingLayers(4, 2));
  ASSERT_EQ(decision.verdict, Verdict::kPlaced);
  EXPECT_EQ(decision.torn, 1u);
  EXPECT_EQ(decision.reason,
            "4 cpu slots on 2 hosts; 1 of 2 groups of ranks that share layers (parallel.tensor 2) "
            "is on several hosts, for want of multiples of 2 on each");
}

TEST(PlacementTest, RanksThatShareLayersStartAtTheCheckpointIfItsHostHasRoom) {
  EXPECT_EQ(Place(PoolOfHosts({4, 2, 3}), SharingLayers(4, 2, "s1")).gang,
            (std::vector<WorkerIndex>{4, 5, 6, 7}));
  // The only slot that sees it has no second one beside it.
  const Decision torn = Place(PoolOfHosts({4, 1, 3}), SharingLayers(4, 2, "s1"));
  EXPECT_EQ(torn.gang[0], 4u);
  EXPECT_EQ(torn.torn, 1u);
}

TEST(PlacementTest, NamesTheMissingSlots) {
  SlotPool pool = PoolOfHosts({2});
  pool.SetUse(0, SlotUse::kBusy);
  EXPECT_EQ(Place(pool, {{kCpu, 4}, ""}).verdict, Verdict::kNeverFits);
  EXPECT_EQ(Place(pool, {{kCpu, 4}, ""}).reason,
            "needs 4 cpu slots; 2 cpu workers connected, 1 free");
  EXPECT_EQ(Place(pool, {{kCpu, 2}, ""}).verdict, Verdict::kNotEnoughFree);
  EXPECT_EQ(Place(pool, {{kCpu, 1}, "elsewhere"}).verdict, Verdict::kStorageAbsent);
  pool.Add({7, "z", "h9", "s9"}, SlotUse::kBusy);
  EXPECT_EQ(Place(pool, {{kCpu, 1}, "s9"}).verdict, Verdict::kStorageBusy);
}

// A fleet that changes at random, and a model of it as plain sets.
class RandomFleet {
 public:
  explicit RandomFleet(uint32_t seed) : random_(seed) {}

  void Change() {
    const WorkerIndex worker = Pick(60);
    const auto known = slots_.find(worker);
    if (known == slots_.end()) {
      const Slot slot{worker, absl::StrCat("w", worker), absl::StrCat("h", Pick(8)),
                      absl::StrCat("s", Pick(5))};
      const SlotUse use = Pick(3) == 0 ? SlotUse::kBusy : SlotUse::kFree;
      pool_.Add(slot, use);
      slots_[worker] = {slot, use};
    } else if (Pick(4) == 0) {
      pool_.Remove(worker);
      slots_.erase(known);
    } else {
      known->second.second = Pick(2) == 0 ? SlotUse::kBusy : SlotUse::kFree;
      pool_.SetUse(worker, known->second.second);
    }
  }

  void CheckAgainstModel() {
    const int wanted = 1 + static_cast<int>(Pick(20));
    const std::string storage = Pick(2) == 0 ? "" : absl::StrCat("s", Pick(6));
    size_t free = 0;
    size_t connected_with = 0;
    size_t free_with = 0;
    for (const auto& [worker, entry] : slots_) {
      const bool is_free = entry.second == SlotUse::kFree;
      const bool sees = entry.first.storage_id == storage;
      free += is_free ? 1 : 0;
      connected_with += sees ? 1 : 0;
      free_with += is_free && sees ? 1 : 0;
    }
    ASSERT_EQ(pool_.free(), free);
    ASSERT_EQ(pool_.connected(), slots_.size());
    const Decision decision = Place(pool_, {{kCpu, wanted}, storage});
    const bool fits = static_cast<size_t>(wanted) <= free && (storage.empty() || free_with > 0);
    ASSERT_EQ(decision.verdict == Verdict::kPlaced, fits) << decision.reason;
    if (static_cast<size_t>(wanted) > slots_.size()) {
      ASSERT_EQ(decision.verdict, Verdict::kNeverFits);
    } else if (!storage.empty() && connected_with == 0) {
      ASSERT_EQ(decision.verdict, Verdict::kStorageAbsent);
    }
    ASSERT_FALSE(decision.reason.empty());
    if (fits) CheckGang(decision, wanted, storage);
    const int together = 2 + static_cast<int>(Pick(3));
    if (wanted % together != 0) return;
    const Decision grouped = Place(pool_, SharingLayers(wanted, together, storage));
    ASSERT_EQ(grouped.verdict, decision.verdict) << "no trial waits for it";
    if (fits) CheckGroups(grouped, together, storage);
  }

 private:
  uint32_t Pick(uint32_t bound) { return random_() % bound; }

  struct Room {
    int free = 0;
    bool sees = false;
  };
  std::map<std::string, Room> RoomOfHosts(const std::string& storage) const {
    std::map<std::string, Room> hosts;
    for (const auto& [worker, entry] : slots_) {
      if (entry.second != SlotUse::kFree) continue;
      Room& room = hosts[entry.first.host];
      ++room.free;
      room.sees = room.sees || storage.empty() || entry.first.storage_id == storage;
    }
    return hosts;
  }

  // Checks that groups are kept together wherever the free slots allow it, and then on the fewest
  // hosts.
  void CheckGroups(const Decision& decision, int together, const std::string& storage) {
    const auto wanted = static_cast<int>(decision.gang.size());
    std::multiset<int, std::greater<>> groups;
    bool anchored = false;
    for (const auto& [host, room] : RoomOfHosts(storage)) {
      groups.insert(room.free / together);
      anchored = anchored || (room.sees && room.free >= together);
    }
    const bool there = std::accumulate(groups.begin(), groups.end(), 0) * together >= wanted;
    size_t torn = 0;
    std::map<std::string, int> taken;
    for (size_t rank = 0; rank < decision.gang.size(); ++rank) {
      const std::string& host = slots_.at(decision.gang[rank]).first.host;
      ++taken[host];
      const bool ends = (rank + 1) % static_cast<size_t>(together) == 0;
      const size_t first = rank + 1 - static_cast<size_t>(together);
      if (ends && slots_.at(decision.gang[first]).first.host != host) ++torn;
    }
    ASSERT_EQ(decision.torn, torn);
    ASSERT_EQ(torn == 0, there && anchored) << decision.reason;
    if (torn > 0) return CheckGang(decision, wanted, storage);
    for (const auto& [host, slots] : taken) ASSERT_EQ(slots % together, 0);
    if (!storage.empty()) {
      ASSERT_EQ(slots_.at(decision.gang[0]).first.storage_id, storage);
      return;
    }
    size_t fewest = 0;
    for (int left = wanted; const int group : groups) {
      if (left <= 0) break;
      left -= group * together;
      ++fewest;
    }
    ASSERT_EQ(taken.size(), fewest);
  }

  void CheckGang(const Decision& decision, int wanted, const std::string& storage) {
    ASSERT_EQ(decision.gang.size(), static_cast<size_t>(wanted)) << "gangs are complete";
    std::set<WorkerIndex> taken;
    std::map<std::string, int> runs;  // how often the gang returns to a host
    std::map<std::string, int> free_of;
    std::string previous;
    for (const auto& [worker, entry] : slots_) {
      if (entry.second == SlotUse::kFree) ++free_of[entry.first.host];
    }
    for (const WorkerIndex worker : decision.gang) {
      ASSERT_TRUE(taken.insert(worker).second) << "no slot twice";
      ASSERT_EQ(slots_.at(worker).second, SlotUse::kFree);
      const std::string& host = slots_.at(worker).first.host;
      if (host != previous) ++runs[host];
      previous = host;
    }
    for (const auto& [host, times] : runs) EXPECT_EQ(times, 1) << "ranks of a host are neighbours";
    if (!storage.empty()) {
      EXPECT_EQ(slots_.at(decision.gang[0]).first.storage_id, storage);
      return;
    }
    // Unless a storage binds it, the gang is on the smallest possible number of hosts.
    std::multiset<int, std::greater<>> sizes;
    for (const auto& [host, count] : free_of) sizes.insert(count);
    int left = wanted;
    size_t fewest = 0;
    for (const int size : sizes) {
      if (left <= 0) break;
      left -= size;
      ++fewest;
    }
    EXPECT_EQ(runs.size(), fewest);
  }

  std::mt19937 random_;
  SlotPool pool_;
  std::map<WorkerIndex, std::pair<Slot, SlotUse>> slots_;
};

class PlacementPropertyTest : public testing::TestWithParam<uint32_t> {};

TEST_P(PlacementPropertyTest, HoldsOnRandomFleets) {
  RandomFleet fleet(GetParam());
  for (int i = 0; i < 2000; ++i) {
    fleet.Change();
    ASSERT_NO_FATAL_FAILURE(fleet.CheckAgainstModel()) << "seed " << GetParam() << ", turn " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, PlacementPropertyTest, testing::Range(1u, 21u));

}  // namespace
}  // namespace dt
