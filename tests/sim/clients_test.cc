// clients_test.cc: clients that run trials themselves, among faults of theirs and of others.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "tests/sim/world.h"

namespace dt::sim {
namespace {

#ifdef DTRAIN_SANITIZE
constexpr uint64_t kClientSeeds = 3;
constexpr uint64_t kKillEvery = 40;  // one of so many commits
#else
constexpr uint64_t kClientSeeds = 40;
constexpr uint64_t kKillEvery = 6;
#endif

TEST(ClientsTest, NothingAcknowledgedIsLostAndEveryTrialEndsOnce) {
  size_t reports = 0;
  size_t ends = 0;
  size_t losses = 0;
  for (uint64_t seed = 1; seed <= kClientSeeds; ++seed) {
    Options options = Draw(seed);
    AddClients(options);
    const Outcome outcome = World(options).Run();
    EXPECT_EQ(outcome.violation, "") << seed;
    reports += outcome.clients.reports;
    ends += outcome.clients.ends;
    losses += outcome.clients.losses;
  }
  std::printf("%llu seeds: %zu reports acknowledged, %zu ends counted, %zu clients lost\n",
              static_cast<unsigned long long>(kClientSeeds), reports, ends, losses);
  EXPECT_GT(reports, 10 * kClientSeeds);
  EXPECT_GT(ends, 5 * kClientSeeds);
  EXPECT_GT(losses, kClientSeeds / 5);
}

TEST(ClientsTest, TheSameSeedGivesTheSameHistory) {
  for (uint64_t seed = 1; seed <= std::min<uint64_t>(3, kClientSeeds / 3); ++seed) {
    Options options = Draw(seed);
    AddClients(options);
    EXPECT_EQ(World(options).Run().history, World(options).Run().history) << seed;
  }
}

// Returns a run of one client and two searches, without other faults.
Options OneClient(uint64_t seed) {
  Options options = Draw(seed);
  Alone(options);
  options.experiments = 0;
  options.clients = 1;
  return options;
}

TEST(ClientsTest, AKillAtACommitLosesNothing) {
  uint64_t kills = 0;
  for (uint64_t seed = 1; seed <= kClientSeeds / 75 + 1; ++seed) {
    const Outcome alone = World(OneClient(seed)).Run();
    ASSERT_EQ(alone.violation, "") << seed;
    ASSERT_GT(alone.clients.ends, 0u) << seed;
    for (const Boundary boundary : {Boundary::kBeforeCommit, Boundary::kAfterCommit}) {
      for (uint64_t batch = 1; batch <= alone.batches; batch += kKillEvery, ++kills) {
        Options options = OneClient(seed);
        options.killed_at = batch;
        options.boundary = boundary;
        const Outcome killed = World(options).Run();
        ASSERT_EQ(killed.violation, "") << seed << " at " << batch;
      }
    }
  }
  std::printf("%llu kills\n", static_cast<unsigned long long>(kills));
}

}  // namespace
}  // namespace dt::sim
