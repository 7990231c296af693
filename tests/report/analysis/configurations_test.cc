#include "report/analysis/configurations.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace dt::report {
namespace {

constexpr double kNotKnown = std::numeric_limits<double>::quiet_NaN();

v1::TrialSummary MakeTrial(uint32_t number, int64_t batch, int64_t seed, double value) {
  v1::TrialSummary trial;
  trial.set_experiment(12);
  trial.set_trial(number);
  trial.set_seed(seed);
  trial.set_state(v1::TRIAL_FINISHED);
  trial.set_cause(v1::CAUSE_FINISHED);
  trial.set_metric_value(value);
  v1::Assignment& assignment = *trial.add_assignments();
  assignment.set_path("train.batch_size");
  assignment.mutable_value()->set_integer(batch);
  return trial;
}

// Returns trials of batch_size 8 and 16, each with three seeds.
std::vector<v1::TrialSummary> Replicated() {
  return {MakeTrial(1, 8, 1, 2.0),  MakeTrial(2, 8, 2, 3.0),  MakeTrial(3, 8, 3, 4.0),
          MakeTrial(4, 16, 1, 1.0), MakeTrial(5, 16, 2, 2.0), MakeTrial(6, 16, 3, 1.5)};
}

TEST(ConfigurationsTest, TrialsThatDifferOnlyInTheirSeedAreOneConfiguration) {
  const auto trials = Replicated();
  const auto configurations = ConfigurationsOf(trials);
  ASSERT_EQ(configurations.size(), 2u);
  EXPECT_EQ(ConfigurationName(configurations[0]), "12/1…3");
  EXPECT_DOUBLE_EQ(configurations[0].metric.mean, 3);
  EXPECT_DOUBLE_EQ(configurations[0].metric.deviation, 1) << "divided by n - 1";
  EXPECT_EQ(SpreadText(configurations[0].metric), "3.0000 ± 1.0000");
  EXPECT_TRUE(HasReplicates(configurations));
}

TEST(ConfigurationsTest, ASweptSeedIsNoPartOfAConfiguration) {
  auto trials = Replicated();
  for (v1::TrialSummary& trial : trials) {
    v1::Assignment& seed = *trial.add_assignments();
    seed.set_path("seed");
    seed.mutable_value()->set_integer(trial.seed());
  }
  EXPECT_EQ(ConfigurationsOf(trials).size(), 2u);
  const Json json = ConfigurationJson(ConfigurationsOf(trials)[1], "val_loss");
  EXPECT_EQ(json["assignments"].dump(), R"({"train.batch_size":16})");
  EXPECT_EQ(json["seeds"].dump(), "[1,2,3]");
  EXPECT_EQ(json["id"], "12/4");
  EXPECT_EQ(json["mean"], 1.5);
}

TEST(ConfigurationsTest, AMeanIsOverTheTrialsThatFinished) {
  auto trials = Replicated();
  trials[1].set_state(v1::TRIAL_RUNNING);
  trials[2].set_state(v1::TRIAL_FAILED);
  trials[2].set_metric_value(kNotKnown);
  const Configuration one = ConfigurationsOf(trials)[0];
  EXPECT_EQ(one.metric.n, 1u);
  EXPECT_EQ(one.ended, 2u);
  EXPECT_EQ(one.failed, 1u);
  EXPECT_FALSE(one.Complete());
  EXPECT_EQ(SpreadText(one.metric), "2.0000") << "one value has no deviation";
  EXPECT_TRUE(ConfigurationJson(one, "val_loss")["deviation"].is_null());
}

TEST(ConfigurationsTest, TheBestHaveAllTheirSeedsAndTheBestMean) {
  auto trials = Replicated();
  trials.push_back(MakeTrial(7, 32, 1, 0.5));
  trials.push_back(MakeTrial(8, 32, 2, kNotKnown));  // a good first value, then it diverged
  trials.back().set_state(v1::TRIAL_FAILED);
  auto configurations = ConfigurationsOf(trials);
  BestFirst(configurations, Goal::kMinimize);
  EXPECT_EQ(ConfigurationName(configurations[0]), "12/4…6");
  EXPECT_EQ(ConfigurationName(configurations[1]), "12/1…3");
  EXPECT_EQ(ConfigurationName(configurations[2]), "12/7…8");
  BestFirst(configurations, Goal::kMaximize);
  EXPECT_EQ(ConfigurationName(configurations[0]), "12/1…3");
  EXPECT_EQ(BestTrial(configurations[0], Goal::kMaximize)->trial(), 3u);
}

TEST(RankedTest, TrialsThatARungEndedRankBelowCompletedOnes) {
  auto trials = Replicated();
  trials[4].set_metric_value(0.25);
  trials[4].set_cause(v1::CAUSE_STOPPED_EARLY);
  trials[4].set_step(20);
  trials[4].set_target_steps(540);
  const auto among = Ranked(trials, Goal::kMinimize, Early::kAmongOthers);
  EXPECT_EQ(among.front()->trial(), 5u);
  EXPECT_EQ(BetterButEarlyText(among, Goal::kMinimize, "val_loss"), "");
  const auto last = Ranked(trials, Goal::kMinimize, Early::kLast);
  EXPECT_EQ(last.front()->trial(), 4u);
  EXPECT_EQ(last.back()->trial(), 5u);
  EXPECT_EQ(BetterButEarlyText(last, Goal::kMinimize, "val_loss"),
            "12/5 has a better val_loss, 0.2500, and was stopped early at step 20/540");
}

}  // namespace
}  // namespace dt::report
