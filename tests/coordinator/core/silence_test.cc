// silence_test.cc: how long a gang may be silent, by its earlier steps, and the evidence that a
// worker is gone, or is not.
#include "coordinator/core/model/silence.h"

#include <gtest/gtest.h>

#include "tests/coordinator/core/attempt_fixture.h"

namespace dt {
namespace {

constexpr absl::Duration kStep = absl::Milliseconds(5);

class SilenceTest : public AttemptTest {
 protected:
  v1::AttemptStatus& StatusOf(const std::string& name) {
    return workers_.at(name).holding.begin()->second;
  }
  // Lets the ranks step for so long, by their heartbeats, one second after the other.
  void StepFor(absl::Duration time, absl::Duration step, const std::vector<std::string>& names) {
    const auto each = static_cast<uint64_t>(absl::Seconds(1) / step);
    for (absl::Duration done; done < time; done += absl::Seconds(1)) {
      Pass(absl::Seconds(1));
      step_ += each;
      for (const std::string& name : names) {
        StatusOf(name).set_step(step_);
        Heartbeat(name);
      }
      Tick();
    }
  }
  // Returns an experiment of more steps than any test can report.
  static v1::ExperimentSpec Long() {
    v1::ExperimentSpec spec = OnSlots(2);
    spec.mutable_base()->mutable_train()->set_max_steps(1000000);
    return spec;
  }
  LiveAttempt& Live(TrialId id) {
    return *state_.live.attempts.at(TrialOf(id).attempts.back().token);
  }

  uint64_t step_ = 0;
};

TEST_F(SilenceTest, AGangOfShortStepsThatStandsStillIsHungAfterSeconds) {
  const TrialId id = TrainPair(Long());
  StepFor(absl::Seconds(5), kStep, {"a", "b"});
  Advance(limits::kHangLeast - absl::Seconds(1));
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
  Advance(absl::Seconds(2));
  EXPECT_EQ(CauseOf(id), v1::CAUSE_HANG);
}

TEST_F(SilenceTest, LongStepsAndRareSignsAreGivenTheirTime) {
  LiveAttempt& attempt = Live(TrainPair(Long()));
  for (RankState& rank : attempt.ranks) rank.tells_pauses = true;
  using absl::Seconds;
  struct Row {
    const char* what;
    Training shown;
    absl::Duration hung;
  };
  const Row rows[] = {
      {"no step yet", {}, limits::kHangFloor},
      {"a sign that is no step", {.longest_gap = Seconds(30)}, limits::kHangFloor},
      {"short steps", {.longest_step = kStep, .longest_gap = Seconds(1)}, limits::kHangLeast},
      {"steps of 2 s", {.longest_step = Seconds(2), .longest_gap = Seconds(2)}, Seconds(40)},
      {"a row each 100 s", {.longest_step = Seconds(1), .longest_gap = Seconds(100)}, Seconds(400)},
      {"a row each hour",
       {.longest_step = Seconds(1), .longest_gap = Seconds(3600)},
       limits::kHangFloor},
      {"steps of an hour",
       {.longest_step = Seconds(3600), .longest_gap = Seconds(3600)},
       Seconds(72000)},
  };
  for (const Row& row : rows) EXPECT_EQ(HangAfter(attempt, row.shown), row.hung) << row.what;
  const Training shown = rows[2].shown;
  attempt.ranks[1].pauses = true;
  EXPECT_EQ(HangAfter(attempt, shown), limits::kHangFloor) << "it saves";
  attempt.ranks[1].pauses = false;
  attempt.ranks[0].evaluation_parts = 3;
  EXPECT_EQ(HangAfter(attempt, shown), limits::kHangFloor) << "it evaluates";
  attempt.ranks[0].evaluation_parts = 0;
  attempt.ranks[0].tells_pauses = false;
  EXPECT_EQ(HangAfter(attempt, shown), limits::kHangFloor) << "of a version that does not say";
}

TEST_F(SilenceTest, ARankThatSaysThatItSavesIsWaitedForAndStepsAgainAfterwards) {
  const TrialId id = TrainPair(Long());
  StepFor(absl::Seconds(3), kStep, {"a", "b"});
  StatusOf("a").set_pauses(true);
  Heartbeat("a");
  Advance(limits::kHangFloor / 2);
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
  StatusOf("a").set_pauses(false);
  Heartbeat("a");
  Advance(limits::kHangLeast - absl::Seconds(1));
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING) << "that it ended was a sign";
  Advance(absl::Seconds(3));
  EXPECT_EQ(CauseOf(id), v1::CAUSE_HANG);
}

TEST_F(SilenceTest, AClosedStreamAndABrokenCollectiveAreALostWorkerAtOnceInEitherOrder) {
  for (const bool stream_first : {true, false}) {
    BeginAnew();
    const TrialId id = TrainPair();
    if (stream_first) Disconnect("b");
    SendItems("a", {Ended("a", v1::CAUSE_COLLECTIVE)});
    if (!stream_first) Disconnect("b");
    Advance(limits::kAbandonGrace + absl::Milliseconds(100));
    EXPECT_EQ(StateOfTrial(id), v1::TRIAL_PENDING) << stream_first;
    EXPECT_EQ(CauseOf(id), v1::CAUSE_WORKER_LOST);
    EXPECT_EQ(TrialOf(id).attempts.back().deciding_rank, 1);
    EXPECT_EQ(TrialOf(id).tries.crashes, 0u) << "no fault of the trainer's";
    EXPECT_NE(TrialOf(id).attempts.back().message.find("worker b"), std::string::npos);
  }
}

TEST_F(SilenceTest, TheEvidenceTakesHalfASecondAndAStreamThatIsBackIsNone) {
  const TrialId id = TrainPair();
  Disconnect("b");
  SendItems("a", {Ended("a", v1::CAUSE_COLLECTIVE)});
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
  Connect("b");
  Advance(limits::kEvidenceGrace / 2);
  SendItems("b", {Ended("b", v1::CAUSE_OOM)});
  EXPECT_EQ(CauseOf(id), v1::CAUSE_OOM) << "the connection broke for a moment";
}

TEST_F(SilenceTest, AWorkerThatIsNotBackYetAfterARestartOfTheCoordinatorIsNotGone) {
  const TrialId id = TrainPair();
  RestartCoordinator();
  Connect("a");
  Follow("a");
  SendItems("a", {Ended("a", v1::CAUSE_COLLECTIVE)});
  Advance(absl::Seconds(5));
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
}

TEST_F(SilenceTest, AWorkerThatIsCutOffWhileItsGangStepsIsAliveUpToABound) {
  const TrialId id = TrainPair(Long());
  StepFor(absl::Seconds(2), kStep, {"a", "b"});
  Disconnect("b");
  StepFor(absl::Seconds(30), kStep, {"a"});
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
  EXPECT_EQ(AttemptsOf(id), 1u);
  Connect("b");
  StepFor(absl::Seconds(20), kStep, {"a", "b"});
  EXPECT_EQ(AttemptsOf(id), 1u);
  Disconnect("b");
  StepFor(limits::kGangLease + absl::Seconds(2), kStep, {"a"});
  EXPECT_EQ(CauseOf(id), v1::CAUSE_WORKER_LOST) << "it could not be stopped";
}

TEST_F(SilenceTest, TheLeaseOfACutOffWorkerCountsOnceItsGangStopsStepping) {
  const TrialId id = TrainPair(Long());
  StepFor(absl::Seconds(2), absl::Milliseconds(900), {"a", "b"});
  Disconnect("b");
  StepFor(absl::Seconds(15), absl::Milliseconds(900), {"a"});
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
  Advance(limits::kLease + absl::Seconds(1));
  EXPECT_EQ(CauseOf(id), v1::CAUSE_WORKER_LOST);
}

TEST_F(SilenceTest, RanksThatStepAloneShowNothingOfTheOthers) {
  v1::ExperimentSpec spec = Long();
  spec.mutable_base()->mutable_parallel()->set_strategy("local_sgd");
  const TrialId id = TrainPair(std::move(spec));
  StepFor(absl::Seconds(2), kStep, {"a", "b"});
  Disconnect("b");
  StepFor(limits::kStartupGrace + absl::Seconds(2), kStep, {"a"});
  EXPECT_EQ(CauseOf(id), v1::CAUSE_WORKER_LOST);
}

TEST_F(SilenceTest, ACancelledGangIsNotWaitedForByItsSteps) {
  const TrialId id = TrainPair(Long());
  StepFor(absl::Seconds(2), kStep, {"a", "b"});
  Disconnect("b");
  StepFor(limits::kStartupGrace + absl::Seconds(2), kStep, {"a"});
  Cancel(id.experiment);
  Leave("a");
  Advance(absl::Seconds(1));
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_CANCELLED);
}

}  // namespace
}  // namespace dt
