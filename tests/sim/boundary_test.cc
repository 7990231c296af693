// boundary_test.cc: a search whose coordinator is killed once, at each of its commits in turn,
// makes the decisions of an undisturbed one. `sim_boundary_test --every N` kills it at every Nth.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/sim/world.h"

namespace dt::sim {
namespace {

// Sanitizers take ten times as long and do not change the decisions.
#ifdef DTRAIN_SANITIZE
uint64_t boundary_every = 180;
#else
uint64_t boundary_every = 10;
#endif

#ifdef DTRAIN_SANITIZE
constexpr uint64_t kSearches = 1;
#else
constexpr uint64_t kSearches = 8;  // some hundred commits each
#endif

Options Searching(uint64_t seed) {
  Options options = Draw(seed);
  Alone(options);
  return options;
}

// Compares, and shows only the first difference; later ones follow from it.
void ExpectTheSame(const std::vector<std::string>& is, const std::vector<std::string>& was) {
  for (size_t i = 0; i < std::min(is.size(), was.size()); ++i) {
    ASSERT_EQ(is[i], was[i]) << "decision " << i + 1;
  }
  ASSERT_EQ(is.size(), was.size());
}

TEST(BoundaryTest, AKillAtAnyCommitChangesNoDecision) {
  uint64_t kills = 0;
  size_t decisions = 0;
  for (uint64_t seed = 1; seed <= kSearches; ++seed) {
    const Outcome alone = World(Searching(seed)).Run();
    ASSERT_EQ(alone.violation, "") << seed;
    decisions += alone.decisions.size();
    for (const Boundary boundary : {Boundary::kBeforeCommit, Boundary::kAfterCommit}) {
      for (uint64_t batch = 1 + seed % boundary_every; batch <= alone.batches;
           batch += boundary_every, ++kills) {
        Options options = Searching(seed);
        options.killed_at = batch;
        options.boundary = boundary;
        SCOPED_TRACE(testing::Message()
                     << "seed " << seed << ", killed "
                     << (boundary == Boundary::kBeforeCommit ? "before" : "after") << " commit "
                     << batch);
        const Outcome killed = World(options).Run();
        ASSERT_EQ(killed.violation, "");
        ASSERT_NO_FATAL_FAILURE(ExpectTheSame(killed.decisions, alone.decisions));
      }
    }
  }
  std::printf("%llu searches, %zu decisions, %llu kills\n",
              static_cast<unsigned long long>(kSearches), decisions,
              static_cast<unsigned long long>(kills));
  EXPECT_GT(decisions, 10 * kSearches);
}

}  // namespace
}  // namespace dt::sim

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], "--every") == 0) {
      dt::sim::boundary_every = std::max<uint64_t>(std::strtoull(argv[i + 1], nullptr, 10), 1);
    }
  }
  return RUN_ALL_TESTS();
}
