// drawn_test.cc: experiments whose trials are drawn or have seeds, from the submit to a trial's
// settings; and the effect of failed trials on a search.
#include <gtest/gtest.h>

#include <set>

#include "coordinator/core/model/resolved.h"
#include "tests/testing/core_fixture.h"

namespace dt {
namespace {

class DrawnTest : public CoreTest {
 protected:
  static v1::ExperimentSpec Random(int32_t trials) {
    v1::ExperimentSpec spec = Searching("random", trials);
    v1::Assignment& included = *spec.add_include()->add_values();
    included.set_path("optimizer.lr");
    included.mutable_value()->set_number(0.003);
    return spec;
  }
  std::vector<double> RatesOf(ExperimentId id) {
    const Experiment& experiment = GetExperiment(state_.durable, id);
    std::vector<double> rates;
    for (const Trial& trial : experiment.trials) {
      const auto spec = ResolvedOf(experiment, trial);
      EXPECT_TRUE(spec.ok()) << spec.status();
      if (spec.ok()) rates.push_back(spec->optimizer().lr());
    }
    return rates;
  }
};

TEST_F(DrawnTest, TrialsTrainTheDrawnValuesAlsoAfterARestart) {
  const ExperimentId id = Submit(Random(12));
  const std::vector<double> rates = RatesOf(id);
  ASSERT_EQ(rates.size(), 12u);
  EXPECT_EQ(rates[0], 0.003);
  EXPECT_EQ(std::set<double>(rates.begin(), rates.end()).size(), 12u);
  for (const double rate : rates) EXPECT_TRUE(rate >= 1e-5 && rate <= 1e-1) << rate;
  RestartCoordinator();
  EXPECT_EQ(RatesOf(id), rates);
  EXPECT_EQ(RatesOf(Submit(Random(12))), rates) << "the same seed";
}

TEST_F(DrawnTest, EverySeedIsTrainedWithEachConfiguration) {
  v1::ExperimentSpec spec = Sweep(OneTrial(), "model.n_layer", {IntegerValue(2), IntegerValue(3)});
  spec.clear_explicit_paths();
  for (const char* path : {"resources.gpus", "resources.device", "data.train", "data.val",
                           "train.max_steps", "retries.max", "retries.backoff"}) {
    spec.add_explicit_paths(path);
  }
  for (const int64_t seed : {5, 9}) spec.add_seeds(seed);
  const ExperimentId id = Submit(spec);
  RestartCoordinator();
  const Experiment& experiment = GetExperiment(state_.durable, id);
  std::vector<std::pair<int64_t, int64_t>> trained;
  for (const Trial& trial : experiment.trials) {
    const v1::Spec resolved = ResolvedOf(experiment, trial).value_or(v1::Spec());
    trained.emplace_back(resolved.model().n_layer(), resolved.seed());
  }
  EXPECT_EQ(trained, (std::vector<std::pair<int64_t, int64_t>>{{2, 5}, {2, 9}, {3, 5}, {3, 9}}));
  EXPECT_EQ(ExpandedOf(experiment, experiment.trials[3]).configuration(), 2u);
  EXPECT_EQ(ExpandedOf(experiment, experiment.trials[3]).replicate(), 1u);
}

TEST_F(DrawnTest, AFinalCrashCountsAsABadResultAndACancelDoesNot) {
  v1::ExperimentSpec spec = Searching("bayes", 20);
  spec.mutable_base()->mutable_retries()->set_max(0);
  const ExperimentId id = Submit(spec);
  AddWorker("a");
  for (int i = 0; i < 5; ++i) {
    Train({"a"});
    SendItems("a", {Evaluation("a", 50, 3 + i)});
    Finish({"a"});
  }
  const v1::Cause causes[] = {v1::CAUSE_TRAINER_CRASH, v1::CAUSE_HANG, v1::CAUSE_DATA,
                              v1::CAUSE_OOM};
  std::string reason;
  const auto read = [&] {
    for (const v1::Record& record : last_.records) {
      if (record.has_trials_added()) reason = record.trials_added().reasons(0);
    }
  };
  const auto fail = [&](v1::Cause cause) {
    Train({"a"});
    SendItems("a", {Ended("a", cause, 5)});
    Leave("a");
    read();
  };
  for (const v1::Cause cause : causes) fail(cause);
  EXPECT_EQ(reason, "uniform: 9 of the 10 configurations that the model needs have ended");
  Cancel(id, 10);
  Follow("a");
  Leave("a");
  read();
  EXPECT_EQ(reason, "uniform: 9 of the 10 configurations that the model needs have ended");
  fail(v1::CAUSE_TRAINER_CRASH);
  EXPECT_EQ(reason, "tpe: best of 24; 1 good, 9 other, 0 open");
  RestartCoordinator();
  Connect("a");
  fail(v1::CAUSE_TRAINER_CRASH);
  EXPECT_EQ(reason, "tpe: best of 24; 1 good, 10 other, 0 open");
}

}  // namespace
}  // namespace dt
