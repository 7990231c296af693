// program_trial_test.cc: attempts whose trainer is a user's program: their progress and their end.
#include <gtest/gtest.h>

#include "tests/testing/core_fixture.h"

namespace dt {
namespace {

class ProgramTrialTest : public CoreTest {
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
    Advance(limits::kStartupGrace);
    AddWorker("a");
    const auto steps = static_cast<uint64_t>(spec.base().steps());
    const TrialId id{Submit(std::move(spec)), 1};
    Follow("a");
    SendItems("a", {Prepared("a", steps), Running("a")});
    return id;
  }
};

TEST_F(ProgramTrialTest, WithoutANumberOfStepsAProgramReportsAndFinishesAtAny) {
  const TrialId id = Run(Program(0));
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
  SendItems("a", {Evaluation("a", 1000, 2.0), Checkpoint("a", 1000)});
  EXPECT_EQ(TrialOf(id).evaluations.size(), 1u);
  EXPECT_EQ(TrialOf(id).checkpoints.size(), 1u);
  SendItems("a", {Ended("a", v1::CAUSE_FINISHED, 1234)});
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_FINISHED);
  EXPECT_EQ(TrialOf(id).attempts[0].last_step, 1234u);
}

TEST_F(ProgramTrialTest, AProgramMayFinishBeforeItsLastStepAndNotBeyondIt) {
  const TrialId id = Run(Program(50));
  SendItems("a", {Evaluation("a", 51, 2.0)});
  EXPECT_TRUE(TrialOf(id).evaluations.empty());
  SendItems("a", {Ended("a", v1::CAUSE_FINISHED, 20)});
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_FINISHED);
}

TEST_F(ProgramTrialTest, AProgramsSilenceIsNoHang) {
  const TrialId id = Run(Program(50));
  Advance(2 * limits::kHangFloor);
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
}

TEST_F(ProgramTrialTest, AProgramsReportedShareIsTheTrialsProgress) {
  const TrialId id = Run(Program(0));
  workers_.at("a").holding.begin()->second.set_progress(0.25);
  Heartbeat("a");
  EXPECT_EQ(Summarize(state_, id, absl::ZeroDuration()).progress(), 0.25);
}

TEST_F(ProgramTrialTest, TheNextAttemptOfAProgramKnowsHowLongTheEarlierOnesRan) {
  Run(Program(0));
  EXPECT_EQ(AssignedTo("a")->ran_seconds(), 0);
  Advance(absl::Minutes(10));
  SendItems("a", {Ended("a", v1::CAUSE_TRAINER_CRASH, 3)});
  Leave("a");
  Advance(absl::Seconds(11));
  ASSERT_NE(AssignedTo("a"), nullptr);
  EXPECT_EQ(AssignedTo("a")->attempt(), 2u);
  EXPECT_NEAR(AssignedTo("a")->ran_seconds(), 600, 1);
}

TEST_F(ProgramTrialTest, OnlyAProgramsOrdersDescribeItsGang) {
  v1::ExperimentSpec spec = Program(0);
  spec.mutable_search()->set_metric("val_loss");
  spec.set_name("mine");
  Run(std::move(spec));
  const v1::Assigned& assigned = workers_.at("a").orders->attempt();
  EXPECT_EQ(assigned.local_world_size(), 1);
  EXPECT_EQ(assigned.nodes(), 1);
  EXPECT_EQ(assigned.local_devices_size(), 1);
  EXPECT_EQ(assigned.metric(), "val_loss");
  EXPECT_EQ(assigned.experiment_name(), "mine");
  BeginAnew();
  Advance(limits::kStartupGrace);
  AddWorker("b");
  Submit(OneTrial());
  EXPECT_EQ(workers_.at("b").orders->attempt().nodes(), 0);
}

}  // namespace
}  // namespace dt
