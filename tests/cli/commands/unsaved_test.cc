// unsaved_test.cc: the work that a stop would throw away, and when dtctl asks first.
#include "cli/commands/unsaved.h"

#include "tests/cli/commands/fixture.h"

namespace dt::cli {
namespace {

v1::TrialSummary At(uint64_t step, uint64_t saved) {
  v1::TrialSummary trial;
  trial.set_step(step);
  if (saved > 0) trial.mutable_last_checkpoint()->set_step(saved);
  return trial;
}

TEST(UnsavedTest, AStopThatSavesLosesTheWorkOfAProgramThatNeverSaved) {
  const std::vector<v1::TrialSummary> running = {At(70, 0), At(90, 40), At(0, 0)};
  EXPECT_EQ(UnsavedText(UnsavedOf(running, false, StopKind::kSaves)), "");
  EXPECT_EQ(UnsavedText(UnsavedOf(running, true, StopKind::kSaves)),
            "2 running trials would lose 70 steps, which no checkpoint has");
  EXPECT_EQ(UnsavedText(UnsavedOf({At(0, 0)}, true, StopKind::kSaves)),
            "1 running trial has saved nothing, and would begin anew");
}

TEST(UnsavedTest, AKillLosesTheWorkSinceTheLastCheckpoint) {
  EXPECT_EQ(UnsavedText(UnsavedOf({At(70, 0), At(90, 40)}, false, StopKind::kKills)),
            "2 running trials would lose 120 steps, which no checkpoint has");
  EXPECT_EQ(UnsavedText(UnsavedOf({At(40, 40), At(0, 0)}, false, StopKind::kKills)), "");
}

class AskingTest : public CommandTest {
 protected:
  void RunTrial() {
    AddExperiment(12, 2);
    control_.Edit([this](FakeControl::World& world) {
      v1::TrialSummary& trial = Trial(world, 12, 2);
      trial.set_state(v1::TRIAL_RUNNING);
      trial.set_step(55);
      trial.clear_last_checkpoint();
    });
  }
};

TEST_F(AskingTest, CancelAsksOnATerminalUnlessYesIsGiven) {
  RunTrial();
  tty_ = true;
  input_ = "n\n";
  const Ran refused = Run({"cancel", "12/2"});
  EXPECT_TRUE(Has(refused.err, "1 running trial would lose 55 steps")) << refused.err;
  EXPECT_TRUE(Has(refused.err, "nothing was changed")) << refused.err;
  EXPECT_TRUE(control_.Snapshot().cancellations.empty());
  EXPECT_EQ(Run({"cancel", "12/2", "--yes"}).code, 0);
  EXPECT_EQ(control_.Snapshot().cancellations.size(), 1u);
}

TEST_F(AskingTest, InAScriptItReportsTheLostWorkAndGoesOn) {
  RunTrial();
  const Ran ran = Run({"cancel", "12/2"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_TRUE(Has(ran.err, "1 running trial would lose 55 steps")) << ran.err;
  EXPECT_EQ(control_.Snapshot().cancellations.size(), 1u);
}

}  // namespace
}  // namespace dt::cli
