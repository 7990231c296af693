#include "coordinator/core/answer/time_left.h"

#include <gtest/gtest.h>

#include "tests/testing/core_fixture.h"

namespace dt {
namespace {

class TimeLeftTest : public CoreTest {
 protected:
  static v1::ExperimentSpec Program(int64_t steps) {
    v1::ExperimentSpec spec = OneTrial();
    spec.clear_explicit_paths();
    for (const char* path : {"run", "steps", "resources.gpus", "resources.device", "seed"}) {
      spec.add_explicit_paths(path);
    }
    spec.mutable_base()->set_run("true");
    spec.mutable_base()->set_steps(steps);
    return spec;
  }
  TrialId Run(v1::ExperimentSpec spec) {
    AddWorker("a");
    const auto steps = static_cast<uint64_t>(spec.base().steps());
    const TrialId id{Submit(std::move(spec)), 1};
    Follow("a");
    SendItems("a", {Prepared("a", steps), Running("a")});
    return id;
  }
};

TEST_F(TimeLeftTest, AProgramWithStepsButNoRowsIsJudgedByItsProgress) {
  const TrialId id = Run(Program(100));
  EXPECT_EQ(EtaSeconds(state_, id), -1);
  Advance(absl::Seconds(20));
  SendItems("a", {Evaluation("a", 25, 2.0)});
  EXPECT_NEAR(EtaSeconds(state_, id), 60, 1);
  EXPECT_NEAR(ExperimentEta(state_, GetExperiment(state_.durable, id.experiment)), 60, 1);
}

TEST_F(TimeLeftTest, AProgramThatReportsItsShareIsJudgedByIt) {
  const TrialId id = Run(Program(0));
  workers_.at("a").holding.begin()->second.set_progress(0.2);
  Advance(absl::Seconds(20));
  EXPECT_NEAR(EtaSeconds(state_, id), 80, 1);
}

TEST_F(TimeLeftTest, OnALadderTheRestCountsByTheShareThatPassesRungs) {
  v1::ExperimentSpec spec = Searching("asha", 30);
  spec.mutable_search()->set_sampler("random");
  const ExperimentId id = Submit(std::move(spec));
  const Experiment& experiment = GetExperiment(state_.durable, id);
  const double before = ExpectedShare(state_, experiment, 0, 0);
  EXPECT_NEAR(before, 1.0 / 27 + 3 * 2.0 / 81, 1e-9) << "a third passes each of three rungs";
  for (const uint32_t rung : {1u, 2u, 3u}) {
    state_.live.progress[id].rungs[rung] = {.gone_on = 1000, .ended = 0};
  }
  EXPECT_NEAR(ExpectedShare(state_, experiment, 0, 0), 1, 0.01);
  state_.live.progress[id].rungs[1] = {.gone_on = 0, .ended = 1000};
  EXPECT_NEAR(ExpectedShare(state_, experiment, 0, 0), 1.0 / 27, 0.01);
  EXPECT_NEAR(ExpectedShare(state_, experiment, 0, 0.5), 0.5, 1e-9) << "beyond the last rung";
  state_.live.progress.erase(id);
}

}  // namespace
}  // namespace dt
