// moved_test.cc: whatever users and the scheduler do to a trial that trains, its losses equal those
// of an undisturbed trial. With the real trainer.
#include <cmath>

#include "tests/e2e/training_fixture.h"

namespace dt {
namespace {

// Two trainers start in two seconds on an idle machine.
constexpr std::chrono::seconds kMoved{120};
// No trial ends by itself, so that no machine is too fast; each is cancelled once all has been
// done.
constexpr int kEndless = 1000000;

class MovedTest : public TrainingTest {
 protected:
  MovedTest() {
    cluster_.SetCoordinatorFlags({"--protect", "1s", "--grow-after", "1s", "--resize-every", "1s"});
  }

  void StartWith(const std::vector<std::string>& workers) {
    Start(workers);
    MakeData("text");
  }
  static FileOf Endless(const std::string& name, int ranks) {
    FileOf file;
    file.name = name;
    file.ranks = ranks;
    file.steps = kEndless;
    file.checkpoint = "{every: 0}";  // saves only when it must leave
    return file;
  }
  uint64_t SubmitUrgent(int ranks, int steps) {
    FileOf urgent;
    urgent.name = "urgent";
    urgent.ranks = ranks;
    urgent.steps = steps;
    urgent.more_resources = ", priority: 10";
    return Submit(urgent);
  }
  uint32_t AttemptsOf(uint64_t experiment) { return cluster_.Trial(experiment).attempts(); }
  // Waits until attempt `number` trains, ten steps further than before; returns its step.
  uint64_t AwaitAttempt(uint64_t experiment, uint32_t number) {
    const auto now = [&] { return cluster_.Trial(experiment); };
    EXPECT_TRUE(Await(
        [&] { return now().attempts() == number && now().state() == v1::TRIAL_RUNNING; }, kMoved))
        << MustDtctl({"explain", std::to_string(experiment) + "/1"}).out;
    const uint64_t step = now().step() + 10;
    EXPECT_TRUE(cluster_.AwaitStep(experiment, 1, step, kMoved));
    return step;
  }
  // Returns the losses of a cancelled trial without its last step's: the evaluation of a step comes
  // after its loss, and a cancelled trainer does not wait for it.
  std::vector<std::string> LossesBeforeTheLast(uint64_t experiment) {
    std::vector<std::string> losses = Losses(experiment);
    if (!losses.empty()) losses.pop_back();
    return losses;
  }
  // Trains `file` for more than `steps` steps, undisturbed, and cancels it. Returns its losses.
  std::vector<std::string> LossesLeftAlone(const FileOf& file, uint64_t steps) {
    const uint64_t experiment = Submit(file);
    EXPECT_TRUE(cluster_.AwaitStep(experiment, 1, steps + 1, kMoved));
    MustDtctl({"cancel", std::to_string(experiment)});
    EXPECT_TRUE(cluster_.AwaitEnd(experiment));
    EXPECT_EQ(AttemptsOf(experiment), 1u);
    return LossesBeforeTheLast(experiment);
  }
  static bool IsStep(const std::string& row, size_t step) {
    return strtoull(row.c_str(), nullptr, 10) == step;
  }
};

TEST_F(MovedTest, APreemptionAPauseAndADrainChangeNoLoss) {
  StartWith({"w0", "w1", "w2"});
  const uint64_t moved = Submit(Endless("moved", 2));
  AwaitAttempt(moved, 1);
  const uint64_t urgent = SubmitUrgent(2, 5);
  ASSERT_TRUE(cluster_.AwaitTrial(urgent, 1, v1::TRIAL_FINISHED, kMoved))
      << MustDtctl({"explain", std::to_string(urgent) + "/1"}).out;
  AwaitAttempt(moved, 2);
  MustDtctl({"pause", std::to_string(moved)});
  ASSERT_TRUE(cluster_.AwaitTrial(moved, 1, v1::TRIAL_PENDING, kMoved));
  MustDtctl({"resume", std::to_string(moved)});
  AwaitAttempt(moved, 3);
  MustDtctl({"worker", "drain", WorkerOf(moved, 1)});
  const uint64_t steps = AwaitAttempt(moved, 4);
  MustDtctl({"cancel", std::to_string(moved)});
  ASSERT_TRUE(cluster_.AwaitEnd(moved));

  const v1::ExplainTrialResponse told = cluster_.Explain(moved);
  ASSERT_EQ(told.attempts_size(), 4);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(told.attempts(i).uncharged()) << told.attempts(i).ShortDebugString();
    EXPECT_GT(told.attempts(i + 1).resumed_step(), 0u);
    EXPECT_LE(told.attempts(i + 1).resumed_step(), told.attempts(i).last_step());
  }
  const std::vector<std::string> losses = LossesBeforeTheLast(moved);
  ASSERT_GE(losses.size() + 1, steps);
  const std::vector<std::string> alone = LossesLeftAlone(Endless("alone", 2), losses.size());
  ASSERT_GE(alone.size(), losses.size());
  for (size_t i = 0; i < losses.size(); ++i) ASSERT_EQ(losses[i], alone[i]);
}

// A single rank adds in another order than two, so the losses agree only up to rounding, which
// later steps carry on.
TEST_F(MovedTest, AGangThatShrinksAndGrowsHasTheLossesOfOneThatKeptItsSize) {
  constexpr double kRounding = 2e-3;
  StartWith({"w0", "w1"});
  FileOf file = Endless("elastic", 2);
  file.more_resources = ", min_gpus: 1";
  const uint64_t moved = Submit(file);
  AwaitAttempt(moved, 1);
  const uint64_t urgent = SubmitUrgent(1, 5);
  ASSERT_TRUE(cluster_.AwaitTrial(urgent, 1, v1::TRIAL_FINISHED, kMoved));
  AwaitAttempt(moved, 3);  // it grows again by itself
  MustDtctl({"cancel", std::to_string(moved)});
  ASSERT_TRUE(cluster_.AwaitEnd(moved));

  const v1::ExplainTrialResponse told = cluster_.Explain(moved);
  ASSERT_EQ(told.attempts_size(), 3);
  EXPECT_EQ(told.attempts(1).members_size(), 1);
  EXPECT_EQ(told.attempts(2).members_size(), 2);
  EXPECT_NE(told.attempts(0).stop_reason().find("goes on with 1 of its 2 slots"),
            std::string::npos);
  EXPECT_NE(told.attempts(1).stop_reason().find("grows from 1 to 2 slots"), std::string::npos);
  const std::vector<std::string> losses = LossesBeforeTheLast(moved);
  const std::vector<std::string> alone = LossesLeftAlone(Endless("alone", 2), losses.size());
  ASSERT_GE(alone.size(), losses.size());
  const size_t shrunk = told.attempts(1).resumed_step();
  double furthest = 0;
  for (size_t i = 0; i < losses.size(); ++i) {
    ASSERT_TRUE(IsStep(losses[i], i + 1)) << losses[i];
    if (i < shrunk) {
      ASSERT_EQ(losses[i], alone[i]);
    } else {
      furthest = std::max(furthest, std::abs(LossOf(losses[i]) - LossOf(alone[i])));
    }
  }
  std::printf("%zu steps, of which %zu before it shrank: %.1e apart at most\n", losses.size(),
              shrunk, furthest);
  EXPECT_LT(furthest, kRounding);
}

// Prints how long the change takes: the limit is ten seconds on a machine that does nothing else.
TEST_F(MovedTest, FourRanksOfALargerPriorityTrainInPlaceOfFourAndThoseGoOnAfterwards) {
  StartWith({"w0", "w1", "w2", "w3"});
  const uint64_t usual = Submit(Endless("usual", 4));
  AwaitAttempt(usual, 1);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  // protected from preemption
  ASSERT_TRUE(Await([&] { return std::chrono::steady_clock::now() > until; }));
  const auto asked = std::chrono::steady_clock::now();
  const uint64_t urgent = SubmitUrgent(4, 20);
  ASSERT_TRUE(cluster_.AwaitStep(urgent, 1, 1, kMoved));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - asked;
  std::printf("from its submission to its first step: %.1f s\n", took.count());
  ASSERT_TRUE(cluster_.AwaitTrial(urgent, 1, v1::TRIAL_FINISHED, kMoved));
  AwaitAttempt(usual, 2);
}

}  // namespace
}  // namespace dt
