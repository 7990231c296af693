#include "coordinator/search/ladder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/draw.h"

namespace dt::search {
namespace {

// Judges by a slow recount: how many of `entries` come before the newest.
Judgement Recounted(const std::vector<double>& entries, int eta) {
  const auto before = static_cast<uint32_t>(std::count_if(
      entries.begin(), entries.end(), [&](double cost) { return cost < entries.back(); }));
  // Equal ones come before it too: their trials have smaller numbers.
  const auto equal =
      static_cast<uint32_t>(std::count(entries.begin(), entries.end(), entries.back()) - 1);
  const auto count = static_cast<uint32_t>(entries.size());
  const uint32_t allowed = std::max(1u, count / static_cast<uint32_t>(eta));
  return {before + equal + 1, count, allowed, before + equal < allowed};
}

TEST(LadderTest, DecisionsEqualASlowRecount) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const Ladder ladder{.eta = 2 + static_cast<int>(seed % 9)};
    Rung rung;
    std::vector<double> entries;
    for (uint32_t trial = 1; trial <= 100; ++trial) {
      // Few different costs, so that there are ties.
      entries.push_back(std::floor(20 * DrawUnit({seed, trial})));
      const Judgement judgement = rung.Enter(ladder, trial, entries.back());
      const Judgement expected = Recounted(entries, ladder.eta);
      ASSERT_EQ(judgement.place, expected.place) << "seed " << seed << ", trial " << trial;
      ASSERT_EQ(judgement.entries, expected.entries);
      ASSERT_EQ(judgement.allowed, expected.allowed);
      ASSERT_EQ(judgement.goes_on, expected.goes_on) << "seed " << seed << ", trial " << trial;
    }
  }
}

TEST(LadderTest, BestEntryOfAnySequenceGoesOn) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Rung rung;
    double best = kWorstCost;
    for (uint32_t trial = 1; trial <= 60; ++trial) {
      const double cost = DrawUnit({seed, trial});
      const Judgement judgement = rung.Enter({.eta = 10}, trial, cost);
      if (cost < best) {
        EXPECT_TRUE(judgement.goes_on) << "seed " << seed << ", trial " << trial;
      }
      best = std::min(best, cost);
    }
  }
}

TEST(LadderTest, BestFirstOnlyAFewGoOnAndWorstFirstAllDo) {
  Rung best_first;
  Rung worst_first;
  for (uint32_t trial = 1; trial <= 50; ++trial) {
    // If the best come first, the newest is always last: only the first has none before it.
    EXPECT_EQ(best_first.Enter({.eta = 3}, trial, trial).goes_on, trial == 1) << trial;
    EXPECT_TRUE(worst_first.Enter({.eta = 3}, trial, 100.0 - trial).goes_on) << trial;
  }
}

TEST(LadderTest, SignAndGoalTurnedTogetherChangeNothing) {
  Rung up;
  Rung down;
  for (uint32_t trial = 1; trial <= 200; ++trial) {
    const double value = trial % 17 == 0 ? NAN : DrawUnit({3, trial}) - 0.5;
    const Judgement a = up.Enter({}, trial, CostOf(Goal::kMinimize, value));
    const Judgement b = down.Enter({}, trial, CostOf(Goal::kMaximize, -value));
    EXPECT_EQ(a.place, b.place) << trial;
    EXPECT_EQ(a.goes_on, b.goes_on) << trial;
  }
}

TEST(LadderTest, EveryFourthTrialGoesOnWithEtaFour) {
  Rung rung;
  int kept = 0;
  for (const double cost : {1.0, 2.0, 3.0, 4.0}) {
    kept += rung.Enter({.eta = 4}, static_cast<uint32_t>(cost), cost).goes_on ? 1 : 0;
  }
  EXPECT_EQ(kept, 1);
}

TEST(LadderTest, RetryTakesAFailedEntryOut) {
  Rung rung;
  rung.Enter({}, 1, 5);
  rung.Enter({}, 2, kWorstCost);
  rung.Withdraw(2);
  rung.Withdraw(7);  // never entered
  EXPECT_FALSE(rung.Has(2));
  const Judgement judgement = rung.Enter({}, 2, 6);
  EXPECT_EQ(judgement.place, 2u);
  EXPECT_EQ(judgement.entries, 2u);
}

TEST(LadderTest, ReasonSaysPlaceAndHowManyGoOn) {
  EXPECT_EQ(ReasonOf({.place = 5, .entries = 12, .allowed = 4, .goes_on = false}, 1, 75, "val_loss",
                     4.812),
            "rung 1 (step 75): val_loss 4.812 is 5th of 12; the best 4 go on");
  EXPECT_EQ(ReasonOf({.place = 1, .entries = 1, .allowed = 1, .goes_on = true}, 2, 9, "loss", 3),
            "rung 2 (step 9): loss 3 is 1st of 1; the best goes on");
  EXPECT_EQ(ReasonOf({.place = 112, .entries = 400, .allowed = 133}, 1, 9, "loss", NAN),
            "rung 1 (step 9): loss nan is 112th of 400; the best 133 go on");
  EXPECT_EQ(ReasonOf({.place = 22, .entries = 23, .allowed = 7}, 1, 9, "loss", 3),
            "rung 1 (step 9): loss 3 is 22nd of 23; the best 7 go on");
}

TEST(LadderTest, BracketsEqualAnAssignmentOneByOne) {
  for (const Ladder& ladder : {Ladder{3, 3, 4}, Ladder{4, 3, 2}, Ladder{2, 6, 7}, Ladder{10, 6, 7},
                               Ladder{3, 1, 2}, Ladder{3, 3, 1}}) {
    std::vector<uint64_t> weight;  // times 420, so that it is an integer
    for (int b = 0; b < ladder.brackets; ++b) {
      uint64_t product = 420 / static_cast<uint64_t>(ladder.rungs - b + 1);
      for (int i = b; i < ladder.rungs; ++i) product *= static_cast<uint64_t>(ladder.eta);
      weight.push_back(product);
    }
    std::vector<uint64_t> counts(static_cast<size_t>(ladder.brackets));
    for (uint32_t configuration = 1; configuration <= 10'000; ++configuration) {
      size_t least = 0;
      for (size_t b = 1; b < counts.size(); ++b) {
        if ((counts[b] + 1) * weight[least] < (counts[least] + 1) * weight[b]) least = b;
      }
      ++counts[least];
      ASSERT_EQ(BracketOf(ladder, configuration), static_cast<int>(least))
          << "eta " << ladder.eta << ", rungs " << ladder.rungs << ", brackets " << ladder.brackets
          << ", configuration " << configuration;
    }
  }
}

TEST(LadderTest, AnEvaluationOfAProgramEntersTheHighestRungThatItHasReached) {
  const std::vector<RungStep> rungs = {{1, 10}, {2, 30}, {3, 90}};
  const auto rung = [&](uint64_t step, int entered, Evaluates where) {
    return RungOf(rungs, step, entered, where).rung;
  };
  EXPECT_EQ(rung(9, 0, Evaluates::kAnywhere), 0);
  EXPECT_EQ(rung(10, 0, Evaluates::kAnywhere), 1);
  EXPECT_EQ(rung(29, 0, Evaluates::kAnywhere), 1);
  EXPECT_EQ(rung(29, 1, Evaluates::kAnywhere), 0) << "one evaluation a rung, the first";
  EXPECT_EQ(rung(95, 1, Evaluates::kAnywhere), 3) << "it passed the second without one";
  EXPECT_EQ(rung(29, 0, Evaluates::kAtRungs), 0) << "a trainer evaluates at the step itself";
  EXPECT_EQ(rung(30, 0, Evaluates::kAtRungs), 2);
}

TEST(LadderTest, RungsWithinTheWarmUpAndOfLaterBracketsAreLeftOut) {
  const auto numbers = [](const std::vector<RungStep>& steps) {
    std::vector<int> rungs;
    rungs.reserve(steps.size());
    for (const RungStep& each : steps) rungs.push_back(each.rung);
    return rungs;
  };
  EXPECT_EQ(numbers(spec::RungSteps({}, 0, 2000, 0)), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(numbers(spec::RungSteps({}, 0, 2000, 75)), (std::vector<int>{2, 3}));
  EXPECT_EQ(numbers(spec::RungSteps({}, 0, 2000, 74)), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(numbers(spec::RungSteps({}, 2, 2000, 0)), (std::vector<int>{3}));
  EXPECT_EQ(numbers(spec::RungSteps({}, 3, 2000, 0)), (std::vector<int>{}));
  EXPECT_EQ(numbers(spec::RungSteps({}, 0, 2, 0)), (std::vector<int>{1}));  // never two at one step
}

TEST(LadderTest, TrialHeadsForTheNextRungOfItsBracket) {
  const std::vector<RungStep> rungs = spec::RungSteps({}, 1, 2000, 0);
  EXPECT_EQ(HeadingFor(rungs, 0), 2);
  EXPECT_EQ(HeadingFor(rungs, 222), 2);
  EXPECT_EQ(HeadingFor(rungs, 223), 3);
  EXPECT_EQ(HeadingFor(rungs, 667), 0);
}

}  // namespace
}  // namespace dt::search
