// search_test.cc: searches with the real programs, from a file to a report. A coordinator that is
// killed many times decides the same as an undisturbed one.
#include <algorithm>
#include <map>
#include <set>

#include "tests/e2e/search_fixture.h"

namespace dt {
namespace {

constexpr char kBayes[] = "{method: bayes, max_trials: 24}";
constexpr char kAsha[] = "{method: asha, sampler: bayes, max_trials: 27, asha: {eta: 3, rungs: 3}}";

// How often the coordinator of one search is killed.
constexpr int kKills = 20;
// If a machine stands still between two looks, a search may end before all its kills; the same
// search then runs again.
constexpr int kRunsMost = 6;

class SearchKillTest : public SearchTest {
 protected:
  // The moment for the kill, in the life of a trial that the search has not proposed yet.
  enum class Moment { kProposed, kStep, kEvaluation, kEnd };
  static Moment MomentOf(int kill) { return static_cast<Moment>(kill % 4); }
  static bool Came(Moment moment, const v1::TrialSummary& trial) {
    switch (moment) {
      case Moment::kProposed:
        return trial.trial() != 0;
      case Moment::kStep:
        return trial.step() > 0;
      case Moment::kEvaluation:
        return std::isfinite(trial.val_loss()) && trial.trial() != 0;
      case Moment::kEnd:
        return trial.state() == v1::TRIAL_FINISHED;
    }
    return false;
  }
  bool Over(uint64_t experiment) {
    return cluster_.Experiment(experiment).state() == v1::EXPERIMENT_FINISHED;
  }
  // Kills the coordinator at a moment of the next trial's life, and starts it again. Returns false
  // if the search was over before.
  bool KillAt(uint64_t experiment, Moment moment) {
    const uint32_t next = cluster_.Experiment(experiment).trials() + 1;
    bool over = false;
    EXPECT_TRUE(Await(
        [&] {
          over = Over(experiment);
          if (over) return true;
          const auto summary = cluster_.Experiment(experiment);
          return summary.trials() >= next && Came(moment, cluster_.Trial(experiment, next));
        },
        kSearch));
    if (over) return false;
    cluster_.KillCoordinator();
    cluster_.StartCoordinator();
    return true;
  }
  // Compares, and shows only the first difference; later ones follow from it.
  static void ExpectTheSame(const std::vector<std::string>& is, const std::vector<std::string>& was,
                            const std::string& what) {
    EXPECT_EQ(is.size(), was.size()) << what;
    for (size_t i = 0; i < std::min(is.size(), was.size()); ++i) {
      if (is[i] == was[i]) continue;
      ADD_FAILURE() << what << ": with kills\n  " << is[i] << "\nand without\n  " << was[i];
      return;
    }
  }
  // Expects the same decisions from the search, first undisturbed and then with kills.
  void ExpectTheSameWithKills(const SearchFile& file) {
    const uint64_t first = RunSearch(file);
    const std::vector<std::string> expected = DecisionsOf(first);
    int kills = 0;
    for (int run = 0; run < kRunsMost && kills < kKills && !HasFailure(); ++run) {
      const uint64_t experiment = SubmitSearch(file);
      ASSERT_NE(experiment, 0u);
      while (kills < kKills && KillAt(experiment, MomentOf(kills))) ++kills;
      ASSERT_TRUE(cluster_.AwaitEnd(experiment, kSearch));
      ExpectTheSame(DecisionsOf(experiment), expected, "after " + std::to_string(kills) + " kills");
      ExpectTheSameLosses(first, experiment);
    }
    EXPECT_EQ(kills, kKills) << "searches were over before they could be disturbed";
  }
  // For every trial, compares the rows that both runs have: a trial that a rung ended trains on
  // until its trainer learns of it. A trial that trained to its end has all rows.
  void ExpectTheSameLosses(uint64_t undisturbed, uint64_t disturbed) {
    for (const Json& trial : TrialsOf(undisturbed)) {
      const auto number = trial.value("trial", 0U);
      std::vector<std::string> before = Losses(undisturbed, number);
      std::vector<std::string> after = Losses(disturbed, number);
      if (StoppedEarly(trial)) {
        const size_t both = std::min(before.size(), after.size());
        EXPECT_GT(both, 0u);
        before.resize(both);
        after.resize(both);
      }
      ExpectTheSame(after, before, "trial " + std::to_string(number));
    }
  }
};

TEST_F(SearchTest, RandomDrawsEveryConfigurationOnceForEachSeedAndReportsThem) {
  Start({"w0", "w1"});
  MakeData("text");
  const uint64_t experiment = RunSearch(
      {.name = "drawn",
       .search = "{method: random, max_trials: 4}",
       .seeds = "seeds: [1, 2]",
       .more =
           "include: [{optimizer.lr: 3.0e-3, optimizer.weight_decay: 0.1, model.n_embd: 32}]\n"});
  std::map<std::string, std::set<int64_t>> seeds_of;
  const std::vector<Json> trials = TrialsOf(experiment);
  EXPECT_EQ(trials.size(), 8u);
  for (const Json& trial : trials) {
    EXPECT_EQ(Word(trial, "state"), "finished") << trial.dump(1);
    EXPECT_EQ(trial.value("step", 0), 54);
    Json values = trial.value("assignments", Json::object());
    const int64_t seed = values.value("seed", int64_t{0});
    values.erase("seed");
    seeds_of[values.dump()].insert(seed);
  }
  EXPECT_EQ(seeds_of.size(), 4u);
  for (const auto& [values, seeds] : seeds_of) {
    EXPECT_EQ(seeds, (std::set<int64_t>{1, 2})) << values;
  }
  const std::string page = MustDtctl({"report", std::to_string(experiment), "--format", "md"}).out;
  for (const char* part : {"optimizer.lr", "optimizer.weight_decay", "model.n_embd", "seed"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part << " is not in\n" << page;
  }
}

TEST_F(SearchTest, BayesProposesFromTheMeansOfSeedsAndReportsIt) {
  Start({"w0"});
  MakeData("text");
  const uint64_t experiment = RunSearch(
      {.name = "proposed", .search = "{method: bayes, max_trials: 12}", .seeds = "seeds: [1, 2]"});
  const std::vector<Json> trials = TrialsOf(experiment);
  ASSERT_EQ(trials.size(), 24u);
  for (const Json& trial : trials) EXPECT_EQ(Word(trial, "state"), "finished") << trial.dump(1);
  // The count is of configurations, not of trials: eleven had ended.
  EXPECT_EQ(Word(trials[22], "chosen"), "tpe: best of 24; 2 good, 9 other, 0 open");
  EXPECT_EQ(Word(trials[23], "chosen"), Word(trials[22], "chosen"));
  EXPECT_EQ(Word(trials[0], "chosen").substr(0, 8), "uniform:");
  const std::string id = std::to_string(experiment);
  EXPECT_NE(MustDtctl({"describe", id + "/23"}).out.find("tpe: best of 24"), std::string::npos);
}

TEST_F(SearchTest, AshaEndsMostTrialsEarlyWithASentenceAndTrainsTheBestToTheEnd) {
  Start({"w0"});
  MakeData("text");
  const uint64_t experiment = RunSearch({.name = "climbed", .search = kAsha});
  const std::vector<Json> trials = TrialsOf(experiment);
  ASSERT_EQ(trials.size(), 27u);
  int early = 0;
  double best_full = INFINITY;
  double best = INFINITY;
  for (const Json& trial : trials) {
    EXPECT_EQ(Word(trial, "state"), "finished") << trial.dump(1);
    const double loss =
        trial.value("val_loss", Json()).is_number() ? trial.value("val_loss", 0.0) : INFINITY;
    best = std::min(best, loss);
    if (StoppedEarly(trial)) {
      ++early;
      EXPECT_EQ(Word(trial, "message").substr(0, 5), "rung ") << trial.dump(1);
      EXPECT_NE(Word(trial, "message").find("; the best "), std::string::npos) << trial.dump(1);
      continue;
    }
    EXPECT_EQ(trial.value("step", 0), 54);
    best_full = std::min(best_full, loss);
  }
  EXPECT_GT(early, 9);
  EXPECT_LT(early, 27);
  EXPECT_EQ(best, best_full) << "the best of all trained to the end";

  const std::string id = std::to_string(experiment);
  const std::string told = MustDtctl({"describe", id}).out;
  EXPECT_NE(told.find("; " + std::to_string(early) + " stopped early"), std::string::npos) << told;
  const std::string page = MustDtctl({"report", id, "--format", "html"}).out;
  EXPECT_NE(page.find(", " + std::to_string(early) + " stopped early"), std::string::npos);
  EXPECT_NE(MustDtctl({"report", id, "--format", "csv"}).out.find("stopped_early"),
            std::string::npos);
}

TEST_F(SearchTest, EachBracketOfHyperbandHasRungsOfItsOwn) {
  Start({"w0"});
  MakeData("text");
  const uint64_t experiment = RunSearch(
      {.name = "banded",
       .search = "{method: asha, sampler: random, max_trials: 18, asha: {eta: 3, rungs: 3, "
                 "brackets: 2}}"});
  std::map<std::pair<int, uint64_t>, int> entered;  // key: bracket and step
  int came = 0;                                     // trials that reached the first rung of their
                                                    // bracket
  std::set<int> brackets;
  for (const auto& rung : RungsOf(experiment)) {
    EXPECT_EQ(rung.least_step(), rung.most_step()) << rung.ShortDebugString();
    EXPECT_LE(rung.went_on(), rung.entered()) << rung.ShortDebugString();
    entered[{rung.bracket(), rung.least_step()}] += static_cast<int>(rung.entered());
    if (brackets.insert(rung.bracket()).second) came += static_cast<int>(rung.entered());
  }
  EXPECT_EQ(brackets, (std::set<int>{0, 1}));
  EXPECT_EQ(came, 18) << "every trial is in one bracket";
  EXPECT_TRUE(entered.contains({0, 2})) << "the first has all rungs";
  EXPECT_FALSE(entered.contains({1, 2})) << "the second leaves out the first of them";
  EXPECT_TRUE(entered.contains({1, 6}));
  int early = 0;
  for (const Json& trial : TrialsOf(experiment)) {
    EXPECT_EQ(Word(trial, "state"), "finished") << trial.dump(1);
    if (StoppedEarly(trial)) ++early;
  }
  EXPECT_GT(early, 6);
}

TEST_F(SearchTest, AMedianEndsTrialsThatAreWorseThanOthersWereAndTheBestTrainsToTheEnd) {
  Start({"w0"});
  MakeData("text");
  const uint64_t experiment = RunSearch({.name = "halved",
                                         .search = "{method: random, max_trials: 16}",
                                         .more = "stop: {median: {after: 1}}\n"});
  int early = 0;
  double best_full = INFINITY;
  double best = INFINITY;
  const std::vector<Json> trials = TrialsOf(experiment);
  ASSERT_EQ(trials.size(), 16u);
  for (const Json& trial : trials) {
    EXPECT_EQ(Word(trial, "state"), "finished") << trial.dump(1);
    const double loss = trial.value("best_val_loss", 0.0);
    best = std::min(best, loss);
    if (StoppedEarly(trial)) {
      ++early;
      EXPECT_NE(Word(trial, "message").find("worse than"), std::string::npos) << trial.dump(1);
      EXPECT_NE(Word(trial, "message").find("(stop.median)"), std::string::npos) << trial.dump(1);
    } else {
      EXPECT_EQ(trial.value("step", 0), 54);
      best_full = std::min(best_full, loss);
    }
  }
  EXPECT_GT(early, 0);
  EXPECT_LT(early, 16 - 3) << "the first ones have too few to be compared with";
  EXPECT_EQ(best, best_full) << "the best of all trained to the end";
}

TEST_F(SearchTest, AReachedTargetEndsTheSearchAndNamesTheTrial) {
  Start({"w0"});
  MakeData("text");
  const uint64_t experiment =
      RunSearch({.name = "reached", .search = "{method: bayes, max_trials: 400, target: 5.6}"});
  const v1::ExperimentSummary summary = cluster_.Experiment(experiment);
  EXPECT_LT(summary.trials(), 400u);
  const std::string told = MustDtctl({"describe", std::to_string(experiment)}).out;
  EXPECT_NE(told.find("search ended"), std::string::npos) << told;
  EXPECT_NE(told.find("target"), std::string::npos) << told;
}

TEST_F(SearchKillTest, TwentyKillsOfTheCoordinatorChangeNoProposal) {
  Start({"w0"});
  MakeData("text");
  ExpectTheSameWithKills({.name = "bayes", .search = kBayes});
}

TEST_F(SearchKillTest, ACoordinatorKilledTwentyTimesEndsTheSameTrialsAtTheSameRungs) {
  Start({"w0"});
  MakeData("text");
  ExpectTheSameWithKills({.name = "asha", .search = kAsha});
}

}  // namespace
}  // namespace dt
