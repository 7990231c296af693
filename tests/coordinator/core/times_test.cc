// times_test.cc: times that users see: how long a trial trained, and when it began, even if the
// machine's clock was wrong.
#include <gtest/gtest.h>

#include "coordinator/core/answer/summaries.h"
#include "coordinator/core/facts/snapshot.h"
#include "tests/testing/core_fixture.h"

namespace dt {
namespace {

class TimesTest : public CoreTest {
 protected:
  v1::TrialSummary SummaryOf(TrialId id) { return Summarize(state_, id, now_.steady); }
  // Sets the machine's clock, while steady time goes on as before.
  void SetClock(int64_t by_ms) {
    now_.wall_ms += by_ms;
    Tick();
  }
  // Makes it save and leave; the trial waits.
  void Pause(ExperimentId id, const std::string& worker, uint64_t step) {
    v1::ChangeRequest request;
    request.set_experiment(id);
    request.mutable_pause();
    ASSERT_TRUE(Call<v1::ChangeResponse>(request).ok());
    SendItems(worker, {Checkpoint(worker, step), Ended(worker, v1::CAUSE_PREEMPTED, step)});
    Leave(worker);
  }
  void Resume(ExperimentId id) {
    v1::ChangeRequest request;
    request.set_experiment(id);
    request.mutable_resume();
    ASSERT_TRUE(Call<v1::ChangeResponse>(request).ok());
  }

  static constexpr int64_t kYears = int64_t{20} * 365 * 24 * 3600 * 1000;
};

TEST_F(TimesTest, ATrialsTimeIsThatInTrainingWithoutQueueWaitsAndStarts) {
  const TrialId id{Submit(OneTrial()), 1};
  Advance(absl::Seconds(30));  // in the queue
  AddWorker("a");
  EXPECT_FALSE(SummaryOf(id).has_training_seconds());
  Train({"a"});
  Advance(absl::Seconds(20));
  EXPECT_NEAR(SummaryOf(id).training_seconds(), 20, 1) << "while it trains";
  Pause(id.experiment, "a", 50);
  Advance(absl::Minutes(2));
  EXPECT_NEAR(SummaryOf(id).training_seconds(), 20, 1) << "a wait is no training";
  Resume(id.experiment);
  Train({"a"}, 50);
  Advance(absl::Seconds(10));
  Finish({"a"});
  Advance(absl::Minutes(1));
  const v1::TrialSummary ended = SummaryOf(id);
  EXPECT_NEAR(ended.training_seconds(), 30, 2);
  EXPECT_GT(ended.ended_wall_ms() - ended.started_wall_ms(), 140'000);
  RestartCoordinator();
  EXPECT_EQ(SummaryOf(id).training_seconds(), ended.training_seconds());
  const auto loaded = LoadSnapshot(SaveSnapshot(state_.durable, {}));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(HashOf(loaded->state), HashOf(state_.durable));
}

TEST_F(TimesTest, TheTimeInTrainingFollowsNoClockThatIsSet) {
  AddWorker("a");
  const TrialId id{Submit(OneTrial()), 1};
  Train({"a"});
  Advance(absl::Seconds(20));
  for (const int64_t by : {kYears, -2 * kYears, kYears}) {
    SetClock(by);
    EXPECT_NEAR(SummaryOf(id).training_seconds(), 20, 1);
  }
  SetClock(kYears);
  Finish({"a"});
  SetClock(-kYears);
  EXPECT_NEAR(SummaryOf(id).training_seconds(), 20, 2);
}

TEST_F(TimesTest, AJournalWithoutTrainedTimeUsesTheTimesOfItsRecords) {
  AddWorker("a");
  const TrialId id{Submit(OneTrial()), 1};
  Train({"a"});
  Advance(absl::Seconds(20));
  Finish({"a"});
  for (std::string& bytes : journal_) {
    v1::Record record;
    ASSERT_TRUE(record.ParseFromString(bytes));
    if (record.has_attempt_ended()) record.mutable_attempt_ended()->clear_trained_ms();
    bytes = record.SerializeAsString();
  }
  RestartCoordinator();
  EXPECT_NEAR(SummaryOf(id).training_seconds(), 20, 2);
}

TEST_F(TimesTest, NoTimeThatIsShownKeepsAClockThatWasWrong) {
  AddWorker("a");
  SetClock(kYears);  // the machine starts with a clock that is far ahead
  const TrialId id{Submit(OneTrial()), 1};
  Train({"a"});
  Advance(absl::Seconds(20));
  SetClock(-kYears);  // and the clock is corrected
  Advance(absl::Seconds(20));
  EXPECT_NEAR(SummaryOf(id).started_wall_ms(), now_.wall_ms - 40'000, 2000)
      << "it still runs: for how long is known";
  v1::GetExperimentRequest request;
  request.set_experiment(id.experiment);
  EXPECT_EQ(Call<v1::GetExperimentResponse>(request)->summary().submitted_wall_ms(),
            SummaryOf(id).started_wall_ms())
      << "not later than its trial";
  Finish({"a"});
  RestartCoordinator();
  Advance(absl::Seconds(5));
  const v1::TrialSummary ended = SummaryOf(id);
  EXPECT_LE(ended.started_wall_ms(), now_.wall_ms);
  EXPECT_LE(ended.started_wall_ms(), ended.ended_wall_ms());
  EXPECT_LE(ended.ended_wall_ms(), now_.wall_ms);
}

TEST_F(TimesTest, NothingBeganBeforeItWasSubmitted) {
  AddWorker("a");
  v1::ExperimentSpec two = Trials(2);
  const ExperimentId id = Submit(two);
  SetClock(-kYears);  // from here on it is far behind
  Train({"a"});
  Finish({"a"});
  SetClock(kYears);
  RestartCoordinator();
  v1::ExplainTrialRequest request;
  request.set_experiment(id);
  request.set_trial(1);
  const auto explained = Call<v1::ExplainTrialResponse>(request);
  ASSERT_TRUE(explained.ok()) << explained.status();
  const int64_t submitted = GetExperiment(state_.durable, id).submitted_wall_ms;
  ASSERT_EQ(explained->attempts_size(), 1);
  for (const int64_t shown :
       {explained->trial().started_wall_ms(), explained->trial().ended_wall_ms(),
        explained->attempts(0).started_wall_ms(), explained->attempts(0).running_wall_ms(),
        explained->attempts(0).ended_wall_ms()}) {
    EXPECT_GE(shown, submitted);
    EXPECT_LE(shown, now_.wall_ms);
  }
}

TEST_F(TimesTest, AWorkerThatIsLostAndBackWithinASecondIsCountedAsLost) {
  AddWorker("a");
  Advance(limits::kStartupGrace);
  Disconnect("a");
  Advance(limits::kLease + absl::Milliseconds(100));
  Connect("a");
  EXPECT_EQ(state_.live.worker_losses, 1u);
  Advance(absl::Seconds(30));
  EXPECT_EQ(state_.live.worker_losses, 1u);
  Disconnect("a");
  Advance(limits::kLease + absl::Milliseconds(100));
  Connect("a");
  EXPECT_EQ(state_.live.worker_losses, 2u);
}

TEST_F(TimesTest, TheNextTrialIsJudgedByItsOwnSizeNotByTheFiles) {
  const ExperimentId id =
      Submit(Sweep(OneTrial(), "resources.gpus", {IntegerValue(4), IntegerValue(2)}));
  ASSERT_NE(id, 0u);
  const Experiment& experiment = GetExperiment(state_.durable, id);
  EXPECT_EQ(ShapeOf(experiment).slots, 1);
  EXPECT_EQ(ShapeOfNext(experiment).slots, 4);
}

}  // namespace
}  // namespace dt
