// save_pace_test.cc: how often an attempt saves if its file does not set it.
#include "coordinator/core/run/save_pace.h"

#include <gtest/gtest.h>

#include "tests/coordinator/core/attempt_fixture.h"

namespace dt {
namespace {

class SavePaceTest : public AttemptTest {
 protected:
  const v1::Every& Sent(const std::string& name) {
    return AssignedTo(name)->spec().checkpoint().every();
  }
  // Lets the gang train for so long, by its rows, and then loses one of its workers.
  void LoseAfter(double seconds, uint64_t step) {
    v1::StepRow row;
    row.set_step(step);
    row.set_steps(1);
    row.set_tokens(500);
    row.set_seconds(seconds);
    SendRows("a", row);
    Disconnect("b");
    Advance(limits::kStartupGrace + limits::kLease);
    Restart("b");
    Leave("a");
    Advance(absl::Seconds(5));
  }
};

TEST_F(SavePaceTest, WithoutAPaceInTheFileTheFirstCheckpointComesSoon) {
  TrainPair();
  EXPECT_EQ(Sent("a").seconds(), 60);
  EXPECT_EQ(Sent("a").first_seconds(), 10);
}

TEST_F(SavePaceTest, TheFilesPaceHoldsAlsoAfterLostAttempts) {
  v1::ExperimentSpec spec = OnSlots(2);
  spec.add_explicit_paths("checkpoint.every");
  TrainPair(spec);
  EXPECT_EQ(Sent("a").seconds(), 60);
  EXPECT_EQ(Sent("a").first_seconds(), 0);
  LoseAfter(3, 1);
  EXPECT_EQ(Sent("a").seconds(), 60);
}

TEST_F(SavePaceTest, AfterALostAttemptItSavesMoreOftenAndThePaceOutlivesTheCoordinator) {
  const TrialId id = TrainPair();
  LoseAfter(30, 1);
  ASSERT_EQ(AttemptsOf(id), 2u);
  const double next = Sent("a").seconds();
  EXPECT_NEAR(next, 7.7, 0.1) << "the root of 2 x 1 s x 30 s: the cost of saving is unknown";
  EXPECT_EQ(Sent("a").first_seconds(), next);
  Train({"a", "b"});
  RestartCoordinator();
  for (const char* name : {"a", "b"}) Connect(name);
  EXPECT_EQ(Sent("a").seconds(), next);
}

TEST_F(SavePaceTest, TheTimeOfACheckpointBoundsThePace) {
  TrainPair();
  v1::Item saved = Checkpoint("a", 1);
  saved.mutable_checkpoint()->set_seconds(0.01);
  SendItems("a", {saved});
  LoseAfter(30, 2);
  EXPECT_EQ(Sent("a").seconds(), absl::ToDoubleSeconds(limits::kSaveLeast));
}

TEST(SavePace, OtherFilesAndProgramsAreLeftAlone) {
  Experiment experiment;
  experiment.spec = OneTrial();
  Trial trial;
  v1::Spec steps = experiment.spec.base();
  steps.mutable_checkpoint()->mutable_every()->set_steps(50);
  SetSavePace(experiment, trial, 1, steps);
  EXPECT_EQ(steps.checkpoint().every().first_seconds(), 0);
  v1::Spec never = experiment.spec.base();
  never.mutable_checkpoint()->mutable_every()->Clear();
  SetSavePace(experiment, trial, 1, never);
  EXPECT_EQ(never.checkpoint().every().first_seconds(), 0);
}

}  // namespace
}  // namespace dt
