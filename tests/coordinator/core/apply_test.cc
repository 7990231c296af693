// apply_test.cc: Apply accepts the changes that the lifecycle allows and refuses all others, fact
// by fact.
#include "coordinator/core/facts/apply.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "common/limits.h"
#include "coordinator/core/facts/hash.h"
#include "tests/testing/experiments.h"

namespace dt {
namespace {

v1::Record Created(JournalId id = 7) {
  v1::Record record;
  record.mutable_journal_created()->set_journal_id(id);
  return record;
}

v1::Record Submitted(int trials = 1, ExperimentId id = 1) {
  v1::Record record;
  record.set_wall_time_ms(5);
  v1::ExperimentSubmitted& fact = *record.mutable_experiment_submitted();
  fact.set_experiment(id);
  fact.set_request_id("request");
  *fact.mutable_spec() = OneTrial();
  for (int i = 1; i <= trials; ++i) fact.add_trials()->set_trial(static_cast<uint32_t>(i));
  return record;
}

template <typename Fact>
Fact& For(Fact& fact, uint32_t attempt = 1) {
  fact.set_experiment(1);
  fact.set_trial(1);
  fact.set_attempt(attempt);
  return fact;
}

v1::Record Started(uint32_t attempt = 1) {
  v1::Record record;
  v1::AttemptStarted& fact = For(*record.mutable_attempt_started(), attempt);
  fact.set_token(std::string(16, static_cast<char>('a' + attempt)));
  fact.add_members()->set_worker("w");
  return record;
}
v1::Record Prepared(uint32_t attempt = 1) {
  v1::Record record;
  For(*record.mutable_attempt_prepared(), attempt).mutable_prepared()->set_target_steps(10);
  return record;
}
v1::Record Running(uint32_t attempt = 1, uint64_t resumed = 0) {
  v1::Record record;
  For(*record.mutable_attempt_running(), attempt).set_resumed_step(resumed);
  return record;
}
v1::Record Ended(v1::Cause cause, int64_t retry_after_ms, uint32_t attempt = 1) {
  v1::Record record;
  v1::AttemptEnded& fact = For(*record.mutable_attempt_ended(), attempt);
  fact.set_cause(cause);
  fact.set_retry_after_ms(retry_after_ms);
  return record;
}
v1::Record Evaluated(uint64_t step, double loss, uint32_t attempt = 1) {
  v1::Record record;
  v1::EvaluationRecorded& fact = For(*record.mutable_evaluation(), attempt);
  fact.mutable_evaluation()->set_step(step);
  fact.mutable_evaluation()->set_loss(loss);
  return record;
}
v1::Record Saved(uint64_t step, uint32_t attempt = 1) {
  v1::Record record;
  v1::CheckpointRegistered& fact = For(*record.mutable_checkpoint(), attempt);
  fact.mutable_checkpoint()->set_step(step);
  fact.mutable_checkpoint()->set_storage_id("s");
  fact.mutable_checkpoint()->set_path(std::to_string(attempt) + "/" + std::to_string(step));
  return record;
}
v1::Record CancelAsked(uint32_t trial = 1) {
  v1::Record record;
  record.mutable_cancel_requested()->set_experiment(1);
  record.mutable_cancel_requested()->set_trial(trial);
  return record;
}
v1::Record TrialEnds(v1::TrialState state, v1::Cause cause) {
  v1::Record record;
  v1::TrialEnded& fact = *record.mutable_trial_ended();
  fact.set_experiment(1);
  fact.set_trial(1);
  fact.set_state(state);
  fact.set_cause(cause);
  return record;
}
v1::Record Retried() {
  v1::Record record;
  record.mutable_trial_retried()->set_experiment(1);
  record.mutable_trial_retried()->set_trial(1);
  return record;
}
v1::Record Deleted() {
  v1::Record record;
  record.mutable_experiment_deleted()->set_experiment(1);
  return record;
}

class ApplyTest : public testing::Test {
 protected:
  void Fold(const std::vector<v1::Record>& records) {
    for (const v1::Record& record : records) {
      const absl::Status status = Apply(state_, record);
      ASSERT_TRUE(status.ok()) << status << "\n" << record.ShortDebugString();
    }
  }
  void ExpectRefused(const v1::Record& record) {
    EXPECT_EQ(Apply(state_, record).code(), absl::StatusCode::kFailedPrecondition)
        << record.ShortDebugString();
  }
  const Trial& trial() { return GetTrial(state_, {1, 1}); }
  DurableState state_;
};

TEST_F(ApplyTest, AJournalBeginsWithItsId) {
  ExpectRefused(Submitted());
  ExpectRefused(Created(0));
  Fold({Created()});
  ExpectRefused(Created());
}

TEST_F(ApplyTest, ARecordOfAnUnknownKindIsRefused) {
  Fold({Created()});
  ExpectRefused(v1::Record());
}

TEST_F(ApplyTest, ATrialGoesThroughAllItsStates) {
  Fold({Created(), Submitted(), Started(), Prepared(), Running(), Evaluated(5, 2.5), Saved(5),
        Ended(v1::CAUSE_FINISHED, -1), TrialEnds(v1::TRIAL_FINISHED, v1::CAUSE_FINISHED)});
  EXPECT_EQ(trial().state, v1::TRIAL_FINISHED);
  EXPECT_EQ(trial().target_steps, 10u);
  const Experiment& experiment = GetExperiment(state_, 1);
  EXPECT_EQ(experiment.finished, 1u);
  EXPECT_TRUE(experiment.AllEnded());
  EXPECT_EQ(StateOf(experiment), v1::EXPERIMENT_FINISHED);
  EXPECT_EQ(state_.tokens.size(), 1u);
}

TEST_F(ApplyTest, FactsAboutMissingThingsAreRefused) {
  Fold({Created()});
  for (const v1::Record& record :
       {Started(), Prepared(), Running(), Ended(v1::CAUSE_OOM, -1), Evaluated(1, 1), Saved(1),
        CancelAsked(), TrialEnds(v1::TRIAL_FAILED, v1::CAUSE_OOM), Retried(), Deleted()}) {
    ExpectRefused(record);
  }
  Fold({Submitted()});
  for (const v1::Record& record :
       {Prepared(), Running(), Ended(v1::CAUSE_OOM, -1), Evaluated(1, 1), Saved(1)}) {
    ExpectRefused(record);  // no such attempt
  }
}

TEST_F(ApplyTest, AnExperimentsIdIsNeverUsedAgain) {
  Fold({Created(), Submitted(), CancelAsked(), TrialEnds(v1::TRIAL_CANCELLED, v1::CAUSE_CANCELLED),
        Deleted()});
  EXPECT_TRUE(state_.experiments.empty());
  EXPECT_TRUE(state_.request_ids.empty());
  ExpectRefused(Submitted(1, 1));
  Fold({Submitted(1, 2)});
}

TEST_F(ApplyTest, AttemptsAreNumberedWithoutHolesAndNeedATokenOfTheirOwn) {
  Fold({Created(), Submitted()});
  ExpectRefused(Started(2));
  v1::Record short_token = Started();
  short_token.mutable_attempt_started()->set_token("short");
  ExpectRefused(short_token);
  Fold({Started(), Ended(v1::CAUSE_HANG, 1000)});
  v1::Record same_token = Started(2);
  same_token.mutable_attempt_started()->set_token(Started(1).attempt_started().token());
  ExpectRefused(same_token);
}

TEST_F(ApplyTest, ATrialEndsAfterItsAttempt) {
  Fold({Created(), Submitted(), Started(), Prepared(), Running()});
  ExpectRefused(TrialEnds(v1::TRIAL_FINISHED, v1::CAUSE_FINISHED));
}

TEST_F(ApplyTest, ResultsOfAnOlderAttemptAreFencedOff) {
  Fold({Created(), Submitted(), Started(), Prepared(), Running(), Ended(v1::CAUSE_HANG, 0)});
  Fold({Saved(3)});  // still the newest: a checkpoint saved just before the end counts
  Fold({Started(2)});
  ExpectRefused(Saved(4));
  ExpectRefused(Evaluated(4, 1.0));
}

TEST_F(ApplyTest, NothingIsAddedToATrialThatHasEnded) {
  Fold({Created(), Submitted(), Started(), Prepared(), Running(), Ended(v1::CAUSE_OOM, -1),
        TrialEnds(v1::TRIAL_FAILED, v1::CAUSE_OOM)});
  for (const v1::Record& record :
       {Started(2), Prepared(), Running(), Ended(v1::CAUSE_OOM, -1), Evaluated(1, 1), Saved(1),
        CancelAsked(), TrialEnds(v1::TRIAL_FINISHED, v1::CAUSE_FINISHED)}) {
    ExpectRefused(record);
  }
  EXPECT_EQ(GetExperiment(state_, 1).oom, 1u);
  Fold({Retried()});
  EXPECT_EQ(GetExperiment(state_, 1).oom, 0u);
  EXPECT_EQ(trial().state, v1::TRIAL_PENDING);
}

TEST_F(ApplyTest, ProgressGivesTheRetryBudgetBack) {
  Fold({Created(), Submitted(), Started(), Ended(v1::CAUSE_TRAINER_CRASH, 0), Started(2),
        Ended(v1::CAUSE_WORKER_LOST, 0, 2)});
  EXPECT_EQ(trial().tries.crashes, 1u);
  EXPECT_EQ(trial().tries.losses, 1u);
  Fold({Started(3), Prepared(3), Running(3), Saved(5, 3), Ended(v1::CAUSE_HANG, 0, 3)});
  EXPECT_EQ(trial().tries.crashes, 1u);
  EXPECT_EQ(trial().tries.losses, 0u);
}

TEST_F(ApplyTest, ACheckpointAtTheResumedStepIsNoProgress) {
  Fold({Created(), Submitted(), Started(), Prepared(), Running(1, 5), Saved(5),
        Ended(v1::CAUSE_HANG, 0), Started(2), Ended(v1::CAUSE_HANG, 0, 2)});
  EXPECT_EQ(trial().tries.crashes, 2u);
}

TEST_F(ApplyTest, RowsBeyondTheStepALaterAttemptResumedFromDoNotCount) {
  Fold({Created(), Submitted(), Started(), Prepared(), Running(), Evaluated(4, 3.0), Saved(4),
        Evaluated(8, 1.0), Saved(8), Ended(v1::CAUSE_HANG, 0)});
  EXPECT_EQ(NewestCheckpoint(trial())->ref.step(), 8u);
  EXPECT_EQ(SummarizeValues(trial(), &KnownEvaluation::metric).lowest, 1.0);
  Fold({Started(2)});
  EXPECT_EQ(NewestCheckpoint(trial())->ref.step(), 8u) << "it did not run yet";
  Fold({Prepared(2), Running(2, 4)});
  EXPECT_EQ(NewestCheckpoint(trial())->ref.step(), 4u);
  EXPECT_EQ(SummarizeValues(trial(), &KnownEvaluation::metric).lowest, 3.0);
  EXPECT_TRUE(IsValid(trial(), 1, 4));
  EXPECT_FALSE(IsValid(trial(), 1, 5));
  EXPECT_TRUE(IsValid(trial(), 2, 5));
}

TEST_F(ApplyTest, AnAttemptMayResumeBeyondItsOrderedCheckpoint) {
  Fold({Created(), Submitted(), Started(), Prepared(), Running(), Saved(4), Evaluated(6, 2.0),
        Ended(v1::CAUSE_WORKER_LOST, 0)});
  Fold({Started(2), Prepared(2), Running(2, 7)});
  EXPECT_EQ(trial().attempts[1].resumed_step, 7u);
  EXPECT_TRUE(IsValid(trial(), 1, 6)) << "the first attempt went on to step 7";
  EXPECT_FALSE(IsValid(trial(), 1, 8));
  EXPECT_EQ(NewestCheckpoint(trial())->ref.step(), 4u) << "until the second registers one";
  Fold({Saved(7, 2)});
  EXPECT_EQ(NewestCheckpoint(trial())->attempt, 2u);
}

TEST_F(ApplyTest, EvaluationsAndCheckpointsInMemoryAreBoundedAndTheBestStays) {
  Fold({Created(), Submitted(), Started(), Prepared(), Running()});
  Fold({Evaluated(1, 0.5)});
  for (uint64_t i = 2; i < limits::kEvaluationsPerTrial + 50; ++i) Fold({Evaluated(i, 9.0)});
  for (uint64_t i = 1; i < limits::kCheckpointsPerTrial + 50; ++i) Fold({Saved(i)});
  EXPECT_EQ(trial().evaluations.size(), limits::kEvaluationsPerTrial);
  EXPECT_EQ(trial().checkpoints.size(), limits::kCheckpointsPerTrial);
  EXPECT_EQ(SummarizeValues(trial(), &KnownEvaluation::metric).lowest, 0.5);
  EXPECT_EQ(NewestCheckpoint(trial())->ref.step(), limits::kCheckpointsPerTrial + 49);
}

TEST_F(ApplyTest, TheBestEvaluationThatStaysIsTheExperiments) {
  v1::Record submitted = Submitted();
  submitted.mutable_experiment_submitted()->mutable_spec()->mutable_search()->set_goal("maximize");
  Fold({Created(), submitted, Started(), Prepared(), Running()});
  Fold({Evaluated(1, 7.0), Evaluated(2, std::numeric_limits<double>::quiet_NaN())});
  for (uint64_t i = 3; i < limits::kEvaluationsPerTrial + 50; ++i) Fold({Evaluated(i, 5.0)});
  EXPECT_EQ(SummarizeValues(trial(), &KnownEvaluation::metric).highest, 7.0);
}

TEST_F(ApplyTest, AnEvaluationThatIsNoNumberTakesNoBestAway) {
  Fold({Created(), Submitted(), Started(), Prepared(), Running()});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Fold({Evaluated(1, nan), Evaluated(2, 1.0), Evaluated(3, 7.0), Evaluated(4, nan),
        Evaluated(5, 5.0)});
  for (const int more : {0, 1}) {
    const ValueSummary summary = SummarizeValues(trial(), &KnownEvaluation::loss);
    EXPECT_EQ(summary.lowest, 1.0);
    EXPECT_EQ(summary.lowest_step, 2u);
    EXPECT_EQ(summary.highest, 7.0);
    EXPECT_EQ(std::isnan(summary.newest), more == 1);
    Fold({Evaluated(6, nan)});
  }
}

TEST_F(ApplyTest, AnEvaluationThatNoLongerCountsMakesRoomFirst) {
  Fold({Created(), Submitted(), Started(), Prepared(), Running(), Evaluated(1, 3.0), Saved(4),
        Evaluated(6, 0.1), Ended(v1::CAUSE_WORKER_LOST, 0)});
  Fold({Started(2), Prepared(2), Running(2, 4)});
  for (uint64_t i = 5; i < limits::kEvaluationsPerTrial + 50; ++i) Fold({Evaluated(i, 9.0, 2)});
  EXPECT_EQ(SummarizeValues(trial(), &KnownEvaluation::metric).lowest, 3.0);
}

TEST_F(ApplyTest, NumbersThatWereSkippedAreGivenToNobody) {
  Fold({Created(), Submitted(1, 1)});
  v1::Record skipped;
  skipped.mutable_numbers_skipped()->set_next_experiment(2);
  ExpectRefused(skipped);
  skipped.mutable_numbers_skipped()->set_next_experiment(5);
  Fold({skipped});
  ExpectRefused(Submitted(1, 4));
  Fold({Submitted(1, 5)});
}

TEST_F(ApplyTest, TheHashSeesEveryFact) {
  std::vector<std::string> hashes{HashOf(state_)};
  for (const v1::Record& record :
       {Created(), Submitted(), Started(), Prepared(), Running(), Evaluated(5, 2.5), Saved(5),
        Ended(v1::CAUSE_HANG, 1000), CancelAsked(),
        TrialEnds(v1::TRIAL_CANCELLED, v1::CAUSE_CANCELLED), Retried(), CancelAsked(0),
        TrialEnds(v1::TRIAL_CANCELLED, v1::CAUSE_CANCELLED), Deleted()}) {
    Fold({record});
    hashes.push_back(HashOf(state_));
    for (size_t i = 0; i + 1 < hashes.size(); ++i) {
      if (record.has_cancel_requested() && record.cancel_requested().trial() == 1) continue;
      EXPECT_NE(hashes[i], hashes.back()) << record.ShortDebugString();
    }
  }
}

TEST_F(ApplyTest, AnExperimentsStateFollowsFromItsTrials) {
  const auto end = [](uint32_t trial, v1::TrialState state, v1::Cause cause) {
    v1::Record record = TrialEnds(state, cause);
    record.mutable_trial_ended()->set_trial(trial);
    return record;
  };
  const auto run_to_end = [&](uint32_t trial, v1::TrialState state, v1::Cause cause) {
    std::vector<v1::Record> records{Started(), Prepared(), Running(), Ended(cause, -1)};
    records[0].mutable_attempt_started()->set_trial(trial);
    records[0].mutable_attempt_started()->set_token(std::string(16, static_cast<char>(trial)));
    records[1].mutable_attempt_prepared()->set_trial(trial);
    records[2].mutable_attempt_running()->set_trial(trial);
    records[3].mutable_attempt_ended()->set_trial(trial);
    records.push_back(end(trial, state, cause));
    Fold(records);
  };
  Fold({Created(), Submitted(3)});
  EXPECT_EQ(StateOf(GetExperiment(state_, 1)), v1::EXPERIMENT_QUEUED);
  run_to_end(1, v1::TRIAL_FINISHED, v1::CAUSE_FINISHED);
  EXPECT_EQ(StateOf(GetExperiment(state_, 1)), v1::EXPERIMENT_RUNNING);
  run_to_end(2, v1::TRIAL_FAILED, v1::CAUSE_OOM);
  DurableState before = state_;
  run_to_end(3, v1::TRIAL_FINISHED, v1::CAUSE_FINISHED);
  EXPECT_EQ(StateOf(GetExperiment(state_, 1)), v1::EXPERIMENT_FINISHED)
      << "running out of memory is a result";
  state_ = before;
  run_to_end(3, v1::TRIAL_FAILED, v1::CAUSE_NONFINITE);
  EXPECT_EQ(StateOf(GetExperiment(state_, 1)), v1::EXPERIMENT_FAILED);
  state_ = before;
  Fold({CancelAsked(0), end(3, v1::TRIAL_CANCELLED, v1::CAUSE_CANCELLED)});
  EXPECT_EQ(StateOf(GetExperiment(state_, 1)), v1::EXPERIMENT_CANCELLED);
}

TEST_F(ApplyTest, AnExperimentWhoseTrialsAllRanOutOfMemoryFailed) {
  Fold({Created(), Submitted(), Started(), Prepared(), Running(), Ended(v1::CAUSE_OOM, -1),
        TrialEnds(v1::TRIAL_FAILED, v1::CAUSE_OOM)});
  EXPECT_EQ(StateOf(GetExperiment(state_, 1)), v1::EXPERIMENT_FAILED);
}

}  // namespace
}  // namespace dt
