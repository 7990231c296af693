// plausibility_test.cc: a worker that reports impossible things, in every state of its attempt. It
// harms nobody, and acknowledged results stay.
#include <gtest/gtest.h>

#include <functional>

#include "tests/testing/core_fixture.h"

namespace dt {
namespace {

class ClaimTest : public CoreTest {
 protected:
  enum class State { kAssigned, kPrepared, kRunning, kEnded };

  // Brings one trial of 100 steps into `state` on worker a.
  TrialId Bring(State state) {
    Advance(limits::kStartupGrace);
    AddWorker("a");
    const TrialId id{Submit(OneTrial()), 1};
    Follow("a");
    Heartbeat("a");
    if (state >= State::kPrepared) SendItems("a", {Prepared("a")});
    if (state >= State::kRunning) SendItems("a", {Running("a"), Rows("a", 1, 10)});
    if (state == State::kEnded) SendItems("a", {Ended("a", v1::CAUSE_TRAINER_CRASH, 10)});
    return id;
  }
  // Expects that no rows, results or end were taken, only the item's number.
  void ExpectLeftOut(const std::string& what) {
    EXPECT_TRUE(last_.records.empty()) << what;
    EXPECT_TRUE(last_.chunks.empty()) << what;
    EXPECT_EQ(last_.acks.size(), 1u) << what << ": it would be sent for ever";
    EXPECT_TRUE(last_.stream_ends.empty()) << what;
  }
  v1::Item At(v1::Item item, const std::string& path) {
    item.mutable_checkpoint()->set_path(path);
    return item;
  }
};

TEST_F(ClaimTest, NoLieWritesARowAResultOrAStepInAnyState) {
  for (const State state : {State::kAssigned, State::kPrepared, State::kRunning, State::kEnded}) {
    SCOPED_TRACE(static_cast<int>(state));
    BeginAnew();
    const TrialId id = Bring(state);
    const uint64_t huge = ~uint64_t{0};
    v1::Item elsewhere = Checkpoint("a", 20);
    elsewhere.mutable_checkpoint()->set_storage_id("storage-b");
    v1::Item jump = Rows("a", 90, 91);
    jump.mutable_rows()->set_last_step(huge);
    const std::vector<std::pair<std::string, v1::Item>> lies = {
        {"rows beyond the target", Rows("a", 99, 101)},
        {"rows to 2^64", jump},
        {"rows that go back", Rows("a", 5, 12)},
        {"rows of step 0", Rows("a", 0, 0)},
        {"an evaluation beyond the target", Evaluation("a", 101, 0.1)},
        {"a checkpoint beyond the target", Checkpoint("a", 101)},
        {"a checkpoint of another trial", At(Checkpoint("a", 20), "7/1/a1/step-20")},
        {"a checkpoint of another attempt", At(Checkpoint("a", 20), "1/1/a2/step-20")},
        {"a checkpoint of another step", At(Checkpoint("a", 20), "1/1/a1/step-21")},
        {"an absolute path", At(Checkpoint("a", 20), "/etc")},
        {"a path that climbs", At(Checkpoint("a", 20), "1/1/a1/../../../x")},
        {"a checkpoint on another storage", elsewhere},
    };
    for (const auto& [what, lie] : lies) {
      SendItems("a", {lie});
      ExpectLeftOut(what);
    }
    EXPECT_TRUE(TrialOf(id).checkpoints.empty());
    EXPECT_TRUE(TrialOf(id).evaluations.empty());
    if (state >= State::kRunning) {
      EXPECT_EQ(state_.live.doubted, lies.size());
    }
  }
}

TEST_F(ClaimTest, NoEvaluationIsTakenBeforeAnAttemptHasReportedItsSteps) {
  AddWorker("a");
  const TrialId id{Submit(OneTrial()), 1};
  Follow("a");
  SendItems("a", {Evaluation("a", 1000, 3.5)});
  EXPECT_TRUE(TrialOf(id).evaluations.empty());
  SendItems("a", {Ended("a", v1::CAUSE_TRAINER_CRASH)});
  EXPECT_TRUE(TrialOf(id).evaluations.empty());
}

TEST_F(ClaimTest, AnAttemptEvaluatesAStepOnceAndItsStepsRise) {
  const TrialId id = Bring(State::kRunning);
  SendItems("a", {Evaluation("a", 10, 0.5), Evaluation("a", 20, 0.4)});
  ASSERT_EQ(TrialOf(id).evaluations.size(), 2u);
  for (const uint64_t step : {20, 10, 1, 0}) {
    SendItems("a", {Evaluation("a", step, 0.1)});
    ExpectLeftOut(absl::StrCat("step ", step));
  }
  EXPECT_EQ(state_.live.doubted, 4u);
  RestartCoordinator();
  Connect("a");
  SendItems("a", {Evaluation("a", 20, 0.1), Evaluation("a", 100, 0.3)});
  ASSERT_EQ(TrialOf(id).evaluations.size(), 3u) << "a restart forgets none of them";
  EXPECT_EQ(TrialOf(id).evaluations.back().step, 100u);
}

TEST_F(ClaimTest, AnEvaluationThatIsSentAgainIsAcknowledgedAndNotDoubted) {
  const TrialId id = Bring(State::kRunning);
  SendItems("a", {Evaluation("a", 10, 0.5)});
  v1::WorkerReport again;
  *again.add_items() = Evaluation("a", 10, 0.5);
  again.mutable_items(0)->set_sequence(workers_.at("a").next_sequence - 1);
  Send("a", std::move(again));
  EXPECT_TRUE(last_.records.empty());
  EXPECT_EQ(state_.live.doubted, 0u);
  EXPECT_EQ(TrialOf(id).evaluations.size(), 1u);
  EXPECT_EQ(workers_.at("a").orders->acked_sequence(), workers_.at("a").next_sequence - 1);
}

TEST_F(ClaimTest, TheNextAttemptEvaluatesAgainFromItsResumedStep) {
  const TrialId id = Bring(State::kRunning);
  SendItems("a", {Checkpoint("a", 8), Evaluation("a", 8, 0.6), Evaluation("a", 10, 0.5),
                  Ended("a", v1::CAUSE_TRAINER_CRASH, 10)});
  Leave("a");
  Advance(absl::Seconds(2));
  ASSERT_EQ(TrialOf(id).attempts.size(), 2u);
  Train({"a"}, 8);
  SendItems("a", {Evaluation("a", 7, 0.1)});
  ExpectLeftOut("an evaluation of a step before the one it resumed from");
  // A gang that was stopped within step 8 still reports that step.
  SendItems("a", {Evaluation("a", 8, 0.6), Evaluation("a", 10, 0.4)});
  EXPECT_EQ(TrialOf(id).evaluations.size(), 4u);
  EXPECT_EQ(state_.live.doubted, 1u);
}

TEST_F(ClaimTest, AnAttemptSavesAStepOnceEvenIfItsFilesAreGone) {
  const TrialId id = Bring(State::kRunning);
  SendItems("a", {Checkpoint("a", 10), Checkpoint("a", 20)});
  ASSERT_EQ(TrialOf(id).checkpoints.size(), 2u);
  v1::Item removal = ItemOf("a");
  *removal.mutable_checkpoint_removed() = TrialOf(id).checkpoints[1].ref;
  SendItems("a", {removal});
  ASSERT_EQ(TrialOf(id).checkpoints.size(), 1u);
  for (const uint64_t step : {20, 10, 15}) {
    SendItems("a", {Checkpoint("a", step)});
    ExpectLeftOut(absl::StrCat("step ", step));
  }
  RestartCoordinator();
  Connect("a");
  SendItems("a", {Checkpoint("a", 10), Checkpoint("a", 30)});
  EXPECT_EQ(TrialOf(id).checkpoints.size(), 2u);
  EXPECT_EQ(state_.live.doubted, 1u);
}

TEST_F(ClaimTest, APieceOfALogWithoutALineIsLeftOut) {
  Bring(State::kRunning);
  v1::Item log = ItemOf("a");
  log.mutable_log();
  SendItems("a", {log});
  EXPECT_TRUE(last_.logs.empty());
  ExpectLeftOut("an empty piece of a log");
  log.mutable_log()->set_dropped_lines(3);
  SendItems("a", {log});
  EXPECT_EQ(last_.logs.size(), 1u) << "it tells that lines are missing";
}

TEST_F(ClaimTest, AFinishedAttemptReportsNoMoreRowsAndAStartDoesNotAskForThem) {
  const TrialId id = Bring(State::kRunning);
  const std::string token = ItemOf("a").attempt_token();
  SendItems("a", {Ended("a", v1::CAUSE_FINISHED, 100)});
  ASSERT_EQ(StateOfTrial(id), v1::TRIAL_FINISHED);
  EXPECT_TRUE(state_.live.told.empty());
  RestartCoordinator();
  EXPECT_TRUE(LoadNewestSteps(state_, [](const AttemptId& attempt) -> absl::StatusOr<uint64_t> {
                ADD_FAILURE() << ToString(attempt);
                return 0;
              }).ok());
  Connect("a");
  v1::Item rows = Rows("a", 1, 10);
  rows.set_attempt_token(token);
  SendItems("a", {rows});
  ExpectLeftOut("rows after the end");
  EXPECT_EQ(state_.live.doubted, 1u);
}

TEST_F(ClaimTest, ATrialWithMaxTimeMayFinishBeforeItsLastStepAndNotBeyondIt) {
  Advance(limits::kStartupGrace);
  AddWorker("a");
  v1::ExperimentSpec spec = OneTrial();
  spec.mutable_base()->mutable_train()->set_max_time_seconds(60);
  const TrialId id{Submit(spec), 1};
  Train({"a"});
  v1::Item end = Ended("a", v1::CAUSE_FINISHED, 31);
  end.mutable_ended()->set_message("train.max_time of 60s reached at step 31");
  SendItems("a", {end});
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_FINISHED);
  EXPECT_EQ(TrialOf(id).attempts.back().last_step, 31u);
  EXPECT_EQ(TrialOf(id).message, end.ended().message());
  Leave("a");
  const TrialId other{Submit(spec), 1};
  Train({"a"});
  SendItems("a", {Ended("a", v1::CAUSE_FINISHED, 101)});
  EXPECT_NE(StateOfTrial(other), v1::TRIAL_FINISHED);
}

TEST_F(ClaimTest, AnEndThatCannotBeIsACrashOfTheTrainer) {
  for (const State state : {State::kAssigned, State::kPrepared, State::kRunning}) {
    for (const auto& [cause, step] :
         std::vector<std::pair<v1::Cause, uint64_t>>{{v1::CAUSE_FINISHED, 0},
                                                     {v1::CAUSE_FINISHED, 99},
                                                     {v1::CAUSE_FINISHED, 101},
                                                     {v1::CAUSE_STOPPED_EARLY, 100},
                                                     {v1::CAUSE_UNSPECIFIED, 5},
                                                     {static_cast<v1::Cause>(99), 5}}) {
      SCOPED_TRACE(absl::StrCat(static_cast<int>(state), " ", step));
      BeginAnew();
      const TrialId id = Bring(state);
      SendItems("a", {Ended("a", cause, step)});
      EXPECT_EQ(StateOfTrial(id), v1::TRIAL_PENDING);
      EXPECT_EQ(TrialOf(id).attempts[0].cause, v1::CAUSE_TRAINER_CRASH);
      EXPECT_TRUE(
          TrialOf(id).attempts[0].message.starts_with("the trainer reported what cannot be: it"));
      EXPECT_LE(TrialOf(id).attempts[0].last_step, 10u);
    }
  }
}

TEST_F(ClaimTest, AnAttemptThatPreparesForAnotherTargetEnds) {
  for (const uint64_t target : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}}) {
    BeginAnew();
    const TrialId id = Bring(State::kAssigned);
    SendItems("a", {Prepared("a", target), Running("a"), Ended("a", v1::CAUSE_FINISHED, target)});
    EXPECT_EQ(StateOfTrial(id), v1::TRIAL_PENDING);
    EXPECT_EQ(TrialOf(id).target_steps, 0u);
    EXPECT_NE(TrialOf(id).attempts[0].message.find("it prepared for"), std::string::npos);
  }
}

TEST_F(ClaimTest, NoTrialIsPreparedForMoreStepsThanATrialCanHave) {
  Advance(limits::kStartupGrace);
  AddWorker("a");
  v1::ExperimentSpec spec = OneTrial();
  spec.mutable_base()->mutable_train()->set_max_steps(0);
  spec.mutable_base()->mutable_train()->set_epochs(1);
  const TrialId id{Submit(spec), 1};
  Follow("a");
  Heartbeat("a");
  SendItems("a", {Prepared("a", ~uint64_t{0})});
  EXPECT_EQ(TrialOf(id).target_steps, 0u);
  EXPECT_NE(TrialOf(id).attempts[0].message.find("the limit is"), std::string::npos);
}

TEST_F(ClaimTest, AnAttemptMayResumeFromANewerCheckpointThanItWasGiven) {
  const TrialId id = Bring(State::kRunning);
  SendItems("a", {Checkpoint("a", 10), Ended("a", v1::CAUSE_TRAINER_CRASH, 10)});
  Leave("a");
  Advance(absl::Seconds(2));
  Follow("a");
  Heartbeat("a");
  ASSERT_EQ(TrialOf(id).attempts.size(), 2u);
  ASSERT_TRUE(TrialOf(id).attempts[1].resume.has_value());
  SendItems("a", {Prepared("a"), Running("a", 20)});
  EXPECT_TRUE(TrialOf(id).attempts[1].ran);
  EXPECT_EQ(TrialOf(id).attempts[1].resumed_step, 20u);
}

TEST_F(ClaimTest, AnAttemptThatResumesFromAnotherCheckpointThanItsOwnEnds) {
  const TrialId id = Bring(State::kPrepared);
  SendItems("a", {Running("a", 50)});
  EXPECT_EQ(TrialOf(id).attempts[0].cause, v1::CAUSE_TRAINER_CRASH);
  EXPECT_FALSE(TrialOf(id).attempts[0].ran);
}

TEST_F(ClaimTest, AStatusBeyondTheTargetChangesNothing) {
  const TrialId id = Bring(State::kRunning);
  for (auto& [token, status] : workers_.at("a").holding) status.set_step(~uint64_t{0});
  Heartbeat("a");
  EXPECT_EQ(FindLiveAttempt(state_, id)->step, 10u);
  EXPECT_EQ(state_.live.doubted, 1u);
  for (auto& [token, status] : workers_.at("a").holding) {
    status.set_step(20);
    status.mutable_latest()->set_step(101);
  }
  Heartbeat("a");
  EXPECT_EQ(FindLiveAttempt(state_, id)->step, 10u);
  for (auto& [token, status] : workers_.at("a").holding) status.mutable_latest()->set_step(20);
  Heartbeat("a");
  EXPECT_EQ(FindLiveAttempt(state_, id)->step, 20u);
}

TEST_F(ClaimTest, AnEndCannotNameAStepThatTheTrialLacks) {
  const TrialId id = Bring(State::kRunning);
  SendItems("a", {Ended("a", v1::CAUSE_OOM, ~uint64_t{0})});
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_FAILED);
  EXPECT_EQ(TrialOf(id).attempts[0].last_step, 100u);
}

TEST_F(ClaimTest, OnlyAWorkerThatSeesAStorageReportsFilesGoneFromIt) {
  const TrialId id = Bring(State::kRunning);
  SendItems("a", {Checkpoint("a", 10)});
  v1::Item removal = ItemOf("a");
  *removal.mutable_checkpoint_removed() = TrialOf(id).checkpoints[0].ref;
  removal.mutable_checkpoint_removed()->set_storage_id("storage-b");
  SendItems("a", {removal});
  EXPECT_EQ(TrialOf(id).checkpoints.size(), 1u);
  removal.mutable_checkpoint_removed()->set_storage_id("storage-a");
  SendItems("a", {removal});
  EXPECT_TRUE(TrialOf(id).checkpoints.empty());
}

TEST_F(ClaimTest, AnOlderAttemptTakesNoCheckpointFromALaterOne) {
  const TrialId id = Bring(State::kRunning);
  const std::string first = ItemOf("a").attempt_token();
  SendItems("a", {Ended("a", v1::CAUSE_TRAINER_CRASH, 10)});
  Leave("a");
  Advance(absl::Seconds(2));
  Follow("a");
  Heartbeat("a");
  SendItems("a", {Prepared("a"), Running("a"), Checkpoint("a", 20)});
  ASSERT_EQ(TrialOf(id).checkpoints.size(), 1u);
  v1::Item removal = ItemOf("a");
  removal.set_attempt_token(first);
  *removal.mutable_checkpoint_removed() = TrialOf(id).checkpoints[0].ref;
  SendItems("a", {removal});
  EXPECT_EQ(TrialOf(id).checkpoints.size(), 1u);
}

TEST_F(ClaimTest, TheLogNamesALiarOnceAndThenEverMoreSeldom) {
  Bring(State::kRunning);
  int lines = 0;
  for (int i = 0; i < 64; ++i) {
    SendItems("a", {Rows("a", 1, 2)});
    lines += static_cast<int>(last_.log_lines.size());
    if (i == 0) {
      ASSERT_EQ(last_.log_lines.size(), 1u);
      EXPECT_EQ(last_.log_lines[0],
                "worker a, attempt 1/1#1: left out, it cannot be: a row of step 1 after that of "
                "step 10 (1 from this worker)");
    }
  }
  EXPECT_EQ(lines, 7);  // 1, 2, 4, … 64
}

TEST_F(ClaimTest, TheNextAttemptMakesItsRowsFromItsResumedStep) {
  const TrialId id = Bring(State::kRunning);
  SendItems("a", {Checkpoint("a", 8), Ended("a", v1::CAUSE_TRAINER_CRASH, 10)});
  Leave("a");
  Advance(absl::Seconds(2));
  ASSERT_EQ(TrialOf(id).attempts.size(), 2u);
  Train({"a"}, 8);
  const size_t before = chunks_.size();
  SendItems("a", {Rows("a", 8, 9)});
  EXPECT_EQ(chunks_.size(), before) << "step 8 was made before";
  SendItems("a", {Rows("a", 9, 12)});
  EXPECT_EQ(chunks_.size(), before + 1);
  EXPECT_EQ(state_.live.told.size(), 1u) << "one of each trial, the newest attempt's";
}

}  // namespace
}  // namespace dt
