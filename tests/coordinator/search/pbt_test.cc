#include "coordinator/search/pbt.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "tests/coordinator/search/spaces.h"

namespace dt::search {
namespace {

constexpr Population kQuarter{.quantile = 0.25, .resample = 0.25};

// Returns a rung of trials from 1 with these costs.
Rung RungOf(const std::vector<double>& costs) {
  Rung rung;
  for (size_t i = 0; i < costs.size(); ++i) {
    rung.Enter({}, static_cast<uint32_t>(i) + 1, costs[i]);
  }
  return rung;
}
bool Any(uint32_t) { return true; }

TEST(PbtTest, TheFirstAtAShareHasNobodyToTakeOverFrom) {
  const Turnover alone = JudgeMember(Rung(), kQuarter, 1, 9);
  EXPECT_EQ(alone.place, 1u);
  EXPECT_EQ(alone.entries, 1u);
  EXPECT_FALSE(alone.takes_over);
}

TEST(PbtTest, TheWorstQuarterTakesOverAndItsSizeIsRoundedUp) {
  std::vector<double> costs;
  for (uint32_t entries = 2; entries <= 12; ++entries) {
    costs.push_back(entries);
    const uint32_t part = std::min((entries + 3) / 4, entries / 2);
    for (uint32_t place = 1; place <= entries; ++place) {
      const Turnover turnover = JudgeMember(RungOf(costs), kQuarter, 100, place + 0.5);
      EXPECT_EQ(turnover.place, place);
      EXPECT_EQ(turnover.part, part) << entries;
      EXPECT_EQ(turnover.takes_over, place > entries - part) << place << " of " << entries;
    }
  }
}

TEST(PbtTest, TheEarlierOfEqualTrialsIsTheBetter) {
  EXPECT_TRUE(JudgeMember(RungOf({4}), kQuarter, 2, 4).takes_over);
  Rung later;
  later.Enter({}, 2, 4);
  EXPECT_FALSE(JudgeMember(later, kQuarter, 1, 4).takes_over);
}

TEST(PbtTest, TheDonorIsDrawnByMemberAndShareFromTheBest) {
  const Rung rung = RungOf({5, 1, 6, 2, 7, 8, 9});
  const Turnover turnover = JudgeMember(rung, kQuarter, 100, 10);
  ASSERT_EQ(turnover.part, 2u);
  std::map<uint32_t, int> drawn;
  for (uint32_t trial = 100; trial < 1100; ++trial) {
    ++drawn[ChooseDonor(rung, turnover, MemberKey(7, trial, 1), Any)];
  }
  ASSERT_EQ(drawn.size(), 2u);
  EXPECT_NEAR(drawn[2], 500, 80);
  EXPECT_NEAR(drawn[4], 500, 80);
  std::set<uint32_t> by_share;
  for (int share = 1; share <= 20; ++share) {
    const DrawKey key = MemberKey(7, 100, share);
    by_share.insert(ChooseDonor(rung, turnover, key, Any));
    EXPECT_EQ(ChooseDonor(rung, turnover, key, Any), ChooseDonor(rung, turnover, key, Any));
  }
  EXPECT_EQ(by_share.size(), 2u);
}

TEST(PbtTest, NobodyTakesOverFromOneThatFailedOrThatSavedNothing) {
  const Rung rung = RungOf({kWorstCost, kWorstCost, 3, kWorstCost});
  const Turnover turnover = JudgeMember(rung, {.quantile = 0.5}, 5, kWorstCost);
  ASSERT_EQ(turnover.part, 2u);
  ASSERT_TRUE(turnover.takes_over);
  EXPECT_EQ(ChooseDonor(rung, turnover, MemberKey(7, 5, 1), Any), 3u);
  EXPECT_EQ(ChooseDonor(rung, turnover, MemberKey(7, 5, 1), [](uint32_t t) { return t != 3; }), 0u);
}

TEST(PbtTest, NumbersMoveByAFifthListsAndStepsByOnePlaceAndChoicesStay) {
  const spec::Space space = testing::Mixed();
  // Dropout, width, layers, norm, rate, warm-up, batch.
  const Point taken{0.25, 20, 6, 1, 0.003, 0.1, 1};
  constexpr Population kMovesOnly{.resample = 0};
  std::vector<std::set<double>> seen(taken.size());
  for (uint32_t trial = 1; trial <= 200; ++trial) {
    const Point moved = Explore(space, taken, kMovesOnly, MemberKey(7, trial, 3), 0);
    for (size_t d = 0; d < moved.size(); ++d) seen[d].insert(moved[d]);
  }
  using Values = std::set<double>;
  EXPECT_EQ(seen[0], (Values{0.2, 0.3}));
  EXPECT_EQ(seen[1], (Values{16, 24}));
  EXPECT_EQ(seen[2], (Values{5, 7})) << "a fifth of 6 is one";
  EXPECT_EQ(seen[3], (Values{1}));
  EXPECT_EQ(seen[4], (Values{0.0024, 0.0036}));
  EXPECT_EQ(seen[5], (Values{0.08, 0.12}));
  EXPECT_EQ(seen[6], (Values{0, 2}));
}

TEST(PbtTest, NothingLeavesItsRange) {
  const spec::Space space = testing::Mixed();
  for (const bool top : {false, true}) {
    Point at = top ? Point{0.5, 64, 12, 1, 0.1, 0.3, 2} : Point{0, 4, 2, 0, 1e-5, 0, 0};
    for (uint32_t trial = 1; trial <= 500; ++trial) {
      at = Explore(space, at, kQuarter, MemberKey(7, trial, 1), 0);
      ASSERT_TRUE(spec::PointOf(space, spec::AssignmentsOf(space, at)).has_value()) << trial;
    }
  }
}

TEST(PbtTest, EachValueIsDrawnAgainIndependentlyWithTheGivenProbability) {
  const spec::Space space{{testing::LearningRate(), testing::Warmup()}};
  const Point taken{0.003, 0.1};
  int rates = 0;
  int both = 0;
  for (uint32_t trial = 1; trial <= 4000; ++trial) {
    const Point moved = Explore(space, taken, kQuarter, MemberKey(7, trial, 1), 0);
    const bool rate = moved[0] != 0.0024 && moved[0] != 0.0036;
    const bool warmup = moved[1] != 0.08 && moved[1] != 0.12;
    rates += rate ? 1 : 0;
    both += rate && warmup ? 1 : 0;
  }
  EXPECT_NEAR(rates, 1000, 120);
  EXPECT_NEAR(both, 250, 60);
}

TEST(PbtTest, TheSameKeyGivesTheSameValuesAndAnotherTurnOthers) {
  const spec::Space space = testing::Mixed();
  const Point taken{0.25, 20, 6, 1, 0.003, 0.1, 1};
  const DrawKey key = MemberKey(7, 3, 2);
  EXPECT_EQ(Explore(space, taken, kQuarter, key, 0), Explore(space, taken, kQuarter, key, 0));
  std::set<Point> turns;
  for (uint32_t turn = 0; turn < 8; ++turn) {
    turns.insert(Explore(space, taken, kQuarter, key, turn));
  }
  EXPECT_GT(turns.size(), 4u);
}

// The paper's toy (figure 2): a member with h trains 1.2 - h0 x² - h1 y², and is ranked by 1.2 - x²
// - y². With (1, 0) and (0, 1) neither member alone gets beyond 0.39.
struct Member {
  Point h;
  double x = 0.9;
  double y = 0.9;
  double cost() const { return x * x + y * y - 1.2; }
  void Train(int steps) {
    for (int i = 0; i < steps; ++i) {
      x -= 0.02 * 2 * h[0] * x;
      y -= 0.02 * 2 * h[1] * y;
    }
  }
};

double BestOfToy(bool learns, uint64_t seed) {
  const spec::Space space{
      {{.path = "h0", .low = 0, .high = 1}, {.path = "h1", .low = 0, .high = 1}}};
  std::vector<Member> members{{{1, 0}}, {{0, 1}}};
  for (int share = 1; share <= 20; ++share) {
    Rung rung;
    std::vector<Member> saved;
    for (uint32_t trial = 1; trial <= 2; ++trial) {
      Member& member = members[trial - 1];
      member.Train(10);
      saved.push_back(member);
      const double cost = member.cost();
      const Turnover turnover = JudgeMember(rung, kQuarter, trial, cost);
      rung.Enter({}, trial, cost);
      if (!learns || !turnover.takes_over) continue;
      const DrawKey key = MemberKey(seed, trial, share);
      member = saved[ChooseDonor(rung, turnover, key, Any) - 1];
      member.h = Explore(space, member.h, kQuarter, key, 0);
    }
  }
  return -std::min(members[0].cost(), members[1].cost());
}

TEST(PbtTest, OnThePapersToyAPopulationBeatsItsMembersAlone) {
  EXPECT_LT(BestOfToy(false, 1), 0.4);
  int reached = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) reached += BestOfToy(true, seed) > 1.1 ? 1 : 0;
  EXPECT_GE(reached, 16);
}

TEST(PbtTest, TheSentenceHasAMembersRank) {
  const Turnover turnover{.place = 7, .entries = 8, .part = 2, .takes_over = true};
  EXPECT_EQ(ReasonOf(turnover, 2, 200, "val_loss", 4.812),
            "share 2 (step 200): val_loss 4.812 is 7th of 8");
  EXPECT_EQ(InfeasibleReasonOf(turnover, 2, 200, "latency_ms 31 breaks latency_ms <= 20"),
            "share 2 (step 200): latency_ms 31 breaks latency_ms <= 20, so it is 7th of 8");
}

}  // namespace
}  // namespace dt::search
