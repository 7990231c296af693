// max_time_test.cc: trials that train.max_time ends.
#include "tests/worker/trainer/run/attempt_fixture.h"

namespace dt::testing {
namespace {

class MaxTimeTest : public AttemptTest {
 protected:
  // More steps than any test waits for.
  static nlohmann::json Endless(double max_time) {
    nlohmann::json spec = SmallSpec();
    spec["train"]["max_steps"] = "100000000";
    spec["train"]["max_time_seconds"] = max_time;
    spec["logging"] = {{"every", "1000000"}};
    return spec;
  }
};

TEST_F(MaxTimeTest, AllRanksFinishAtTheSameStepWithAValidationAndACheckpointOfIt) {
  TrainerGang gang(2);
  const Told told = gang.Run(StoredStart(Endless(0.5)));
  EXPECT_EQ(told.Cause(0), "finished") << told.Message(0);
  EXPECT_EQ(told.Cause(1), "finished") << told.Message(1);
  const uint64_t step = told.EndStep(0);
  EXPECT_GE(step, 1u);
  EXPECT_EQ(told.EndStep(1), step);
  EXPECT_EQ(told.Message(), "train.max_time of 0.5s reached at step " + std::to_string(step));
  ASSERT_EQ(told.evals.size(), 1u);
  EXPECT_EQ(told.evals[0].step, step);
  ASSERT_EQ(told.checkpoints.size(), 1u);
  EXPECT_EQ(told.checkpoints[0].step, step);
  EXPECT_EQ(told.rows.back()["step"], step) << "the last step has a row";
}

TEST_F(MaxTimeTest, TheTimeOfEarlierAttemptsCounts) {
  TrainerGang gang(2);
  frames::Start start = StoredStart(Endless(0.5));
  const Told first = gang.Run(start);
  ASSERT_EQ(first.Cause(), "finished") << first.Message();
  start.attempt = 2;
  start.resume = ResumeOf(first.checkpoints.at(0));
  // As if the coordinator had never learned that it finished.
  const Told again = gang.Run(start);
  EXPECT_EQ(again.Cause(), "finished") << again.Message();
  EXPECT_EQ(again.EndStep(), first.EndStep()) << "no second is left";
  EXPECT_TRUE(again.rows.empty());
  EXPECT_EQ(again.Message(), first.Message());

  start.attempt = 3;
  start.spec["train"]["max_time_seconds"] = 1e6;
  const Told longer = gang.Run(start, [](TrainerGang& all, const frames::FromTrainer& frame) {
    if (!std::holds_alternative<frames::Running>(frame)) return;
    for (const int rank : {0, 1}) all.Stop(rank, true);
  });
  EXPECT_EQ(longer.resumed_step, first.EndStep()) << "another limit leaves a checkpoint good";
}

TEST_F(MaxTimeTest, ATrialThatReachesItsLastStepFirstDoesNotMentionTime) {
  nlohmann::json spec = SmallSpec();
  spec["train"]["max_time_seconds"] = 1e6;
  TrainerGang gang(1);
  const Told told = gang.Run(StoredStart(spec));
  EXPECT_EQ(told.EndStep(), 8u);
  EXPECT_EQ(told.Message(), "");
}

}  // namespace
}  // namespace dt::testing
