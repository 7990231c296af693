// scheduling_test.cc: the order of trials and preemption among real programs.
#include "tests/e2e/fleet_fixture.h"

namespace dt {
namespace {

class SchedulingTest : public FleetTest {
 protected:
  SchedulingTest() { cluster_.SetCoordinatorFlags({"--protect", "1s"}); }
};

TEST_F(SchedulingTest, ATrialThatMakesRoomSavesGoesOnAndHasEveryStepOnce) {
  Start({"w0", "w1"});
  const uint64_t usual =
      cluster_.Submit(Training(600, "step_ms=10 checkpoint_every=0 wait_at=300", 2).spec());
  ASSERT_TRUE(cluster_.AwaitStep(usual, 1, 10));
  const uint64_t urgent =
      cluster_.Submit(Training(50, "step_ms=1", 2).Set("resources.priority", "10").spec());
  ASSERT_TRUE(cluster_.AwaitTrial(urgent, 1, v1::TRIAL_FINISHED, std::chrono::seconds(120)));
  EXPECT_EQ(cluster_.Experiment(urgent).priority(), 10);
  ASSERT_TRUE(cluster_.AwaitTrial(usual, 1, v1::TRIAL_FINISHED, std::chrono::seconds(120)));
  ExpectEachStepOnce(usual, 600);
  const v1::ExplainTrialResponse told = cluster_.Explain(usual);
  ASSERT_EQ(told.attempts_size(), 2);
  EXPECT_TRUE(told.attempts(0).uncharged());
  EXPECT_NE(told.attempts(0).stop_reason().find("makes room for trial"), std::string::npos);
  // Rank 1 may have reported steps after the one at which rank 0 saved.
  EXPECT_GT(told.attempts(1).resumed_step(), 10u);
  EXPECT_LE(told.attempts(1).resumed_step(), told.attempts(0).last_step());
}

// The elastic trial starts on two slots of the four that it wants; the urgent trial needs one of
// them.
TEST_F(SchedulingTest, AnElasticTrialStartsSmallerShrinksForAnotherAndHasEveryStepOnce) {
  Start({"w0", "w1"});
  spec::ExperimentBuilder elastic = Training(600, "step_ms=10 checkpoint_every=0 wait_at=300", 4);
  elastic.Set("resources.min_gpus", "1");
  const uint64_t usual = cluster_.Submit(elastic.spec());
  ASSERT_TRUE(cluster_.AwaitStep(usual, 1, 10));
  const uint64_t urgent =
      cluster_.Submit(Training(50, "step_ms=1").Set("resources.priority", "10").spec());
  ASSERT_TRUE(cluster_.AwaitTrial(urgent, 1, v1::TRIAL_FINISHED, std::chrono::seconds(120)));
  ASSERT_TRUE(cluster_.AwaitTrial(usual, 1, v1::TRIAL_FINISHED, std::chrono::seconds(120)));
  ExpectEachStepOnce(usual, 600);
  const v1::ExplainTrialResponse told = cluster_.Explain(usual);
  ASSERT_EQ(told.attempts_size(), 2);
  EXPECT_EQ(told.attempts(0).members_size(), 2);
  EXPECT_EQ(told.attempts(1).members_size(), 1);
  EXPECT_TRUE(told.attempts(0).uncharged());
  EXPECT_NE(told.attempts(0).stop_reason().find("goes on with 1 of its 2 slots"),
            std::string::npos);
  EXPECT_GT(told.attempts(1).resumed_step(), 10u);
}

TEST_F(SchedulingTest, ATrialGoesToTheWorkerWithItsLabel) {
  Start({"w0"});
  const uint64_t experiment = [&] {
    spec::ExperimentBuilder builder = Training(20);
    v1::Label& label = *builder.spec().mutable_base()->mutable_resources()->add_labels();
    label.set_key("zone");
    label.set_value("west");
    return cluster_.Submit(builder.spec());
  }();
  EXPECT_NE(cluster_.Explain(experiment).explanation().find("no connected worker has label zone"),
            std::string::npos);
  cluster_.StartWorker("w1", {"--label", "zone=west"});
  ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FINISHED));
  EXPECT_EQ(WorkerOf(experiment, 0), "w1");
}

}  // namespace
}  // namespace dt
