// editing_test.cc: changes of a submitted experiment, and requested stops, which cost its trials
// nothing.
#include "coordinator/core/calls/editing.h"

#include <gtest/gtest.h>

#include "coordinator/core/facts/snapshot.h"
#include "coordinator/core/model/resolved.h"
#include "tests/testing/core_fixture.h"

namespace dt {
namespace {

class EditingTest : public CoreTest {
 protected:
  v1::ChangeRequest RequestFor(ExperimentId experiment) {
    v1::ChangeRequest request;
    request.set_experiment(experiment);
    request.set_who("ann");
    return request;
  }
  absl::StatusOr<v1::ChangeResponse> Pause(ExperimentId experiment, bool let_run = false) {
    v1::ChangeRequest request = RequestFor(experiment);
    request.mutable_pause()->set_let_run(let_run);
    return Call<v1::ChangeResponse>(request);
  }
  absl::StatusOr<v1::ChangeResponse> Resume(ExperimentId experiment) {
    v1::ChangeRequest request = RequestFor(experiment);
    request.mutable_resume();
    return Call<v1::ChangeResponse>(request);
  }
  absl::StatusOr<v1::ChangeResponse> SetMaxConcurrent(ExperimentId experiment, uint32_t most) {
    v1::ChangeRequest request = RequestFor(experiment);
    request.set_max_concurrent(most);
    return Call<v1::ChangeResponse>(request);
  }
  absl::StatusOr<v1::ChangeResponse> Extend(ExperimentId experiment, uint32_t max_trials) {
    v1::ChangeRequest request = RequestFor(experiment);
    request.set_max_trials(max_trials);
    return Call<v1::ChangeResponse>(request);
  }
  std::vector<double> RatesOf(ExperimentId id) {
    const Experiment& experiment = GetExperiment(state_.durable, id);
    std::vector<double> rates;
    for (const Trial& trial : experiment.trials) {
      const auto spec = ResolvedOf(experiment, trial);
      rates.push_back(spec.ok() ? spec->optimizer().lr() : 0);
    }
    return rates;
  }
  v1::GetExperimentResponse Get(ExperimentId experiment) {
    v1::GetExperimentRequest request;
    request.set_experiment(experiment);
    const auto response = Call<v1::GetExperimentResponse>(request);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.value_or(v1::GetExperimentResponse());
  }
  // Trains a trial for which a single failure would be final.
  TrialId TrainWithoutRetries() {
    v1::ExperimentSpec spec = OneTrial();
    spec.mutable_base()->mutable_retries()->set_max(0);
    const TrialId id{Submit(spec), 1};
    Train({"a"});
    return id;
  }
  const Attempt& LastOf(TrialId id) { return TrialOf(id).attempts.back(); }
};

TEST_F(EditingTest, APausedExperimentSavesStopsAndGoesOnFromThereAtNoCost) {
  AddWorker("a");
  const TrialId id = TrainWithoutRetries();
  const auto paused = Pause(id.experiment);
  ASSERT_TRUE(paused.ok()) << paused.status();
  EXPECT_TRUE(paused->changed());
  EXPECT_EQ(paused->stopping(), 1u);
  EXPECT_TRUE(AssignedTo("a")->checkpoint_stop());
  EXPECT_FALSE(AssignedTo("a")->abandon());
  EXPECT_NE(Explain(id).find("saving: experiment is paused by ann"), std::string::npos)
      << Explain(id);
  SendItems("a", {Checkpoint("a", 40), Ended("a", v1::CAUSE_PREEMPTED, 40)});
  Leave("a");
  EXPECT_TRUE(LastOf(id).uncharged);
  EXPECT_EQ(TrialOf(id).tries.losses, 0u);
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_PENDING);
  Advance(absl::Minutes(10));
  ExpectIdle("a");
  EXPECT_EQ(Explain(id), "waits: experiment is paused by ann");
  ASSERT_TRUE(Resume(id.experiment).ok());
  ExpectOrders("a", id, 0);
  EXPECT_EQ(AssignedTo("a")->resume().step(), 40u);
  EXPECT_FALSE(AssignedTo("a")->checkpoint_stop());
}

TEST_F(EditingTest, APausedExperimentWhoseTrialsRunOnStartsNothingElse) {
  AddWorker("a");
  const TrialId id{Submit(Trials(2)), 1};
  Train({"a"});
  ASSERT_TRUE(Pause(id.experiment, true).ok());
  EXPECT_FALSE(AssignedTo("a")->checkpoint_stop());
  Finish({"a"});
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_FINISHED);
  ExpectIdle("a");
  EXPECT_EQ(StateOfTrial({id.experiment, 2}), v1::TRIAL_PENDING);
  ASSERT_TRUE(Resume(id.experiment).ok());
  ExpectOrders("a", {id.experiment, 2}, 0);
}

TEST_F(EditingTest, ALaterPauseThatStopsTrialsStopsThoseLeftRunning) {
  AddWorker("a");
  const TrialId id = TrainWithoutRetries();
  ASSERT_TRUE(Pause(id.experiment, true).ok());
  const auto again = Pause(id.experiment);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_FALSE(again->changed());
  EXPECT_EQ(again->stopping(), 1u);
  EXPECT_TRUE(AssignedTo("a")->checkpoint_stop());
}

TEST_F(EditingTest, ASecondPauseAndASecondResumeChangeNothing) {
  AddWorker("a");
  const TrialId id = TrainWithoutRetries();
  ASSERT_TRUE(Pause(id.experiment).ok());
  const auto paused = Pause(id.experiment);
  ASSERT_TRUE(paused.ok());
  EXPECT_FALSE(paused->changed());
  EXPECT_EQ(paused->stopping(), 0u);
  EXPECT_TRUE(last_.records.empty());
  ASSERT_TRUE(Resume(id.experiment)->changed());
  EXPECT_FALSE(Resume(id.experiment)->changed());
  EXPECT_TRUE(last_.records.empty());
  EXPECT_EQ(Get(id.experiment).edits_size(), 2);
}

TEST_F(EditingTest, APausedExperimentStaysPausedAndIsAskedToSaveAgainAfterARestart) {
  AddWorker("a");
  const TrialId id = TrainWithoutRetries();
  ASSERT_TRUE(Pause(id.experiment).ok());
  workers_.at("a").orders.reset();
  RestartCoordinator();
  Connect("a");
  ASSERT_NE(AssignedTo("a"), nullptr);
  EXPECT_TRUE(AssignedTo("a")->checkpoint_stop());
  SendItems("a", {Ended("a", v1::CAUSE_PREEMPTED)});
  Leave("a");
  RestartCoordinator();
  Connect("a");
  ExpectIdle("a");
  EXPECT_EQ(Explain(id), "waits: experiment is paused by ann");
}

TEST_F(EditingTest, AGangThatWasAskedToStopCostsItsTrialNothingHoweverItLeaves) {
  AddWorker("a");
  for (const v1::Cause cause : {v1::CAUSE_PREEMPTED, v1::CAUSE_TRAINER_CRASH, v1::CAUSE_HANG,
                                v1::CAUSE_COLLECTIVE, v1::CAUSE_CANCELLED}) {
    const TrialId id = TrainWithoutRetries();
    ASSERT_TRUE(Pause(id.experiment).ok());
    SendItems("a", {Ended("a", cause)});
    Leave("a");
    Advance(absl::Seconds(5));
    EXPECT_EQ(StateOfTrial(id), v1::TRIAL_PENDING) << Name(cause);
    EXPECT_TRUE(LastOf(id).uncharged) << Name(cause);
    EXPECT_NE(LastOf(id).message.find("experiment is paused by ann"), std::string::npos);
    EXPECT_EQ(TrialOf(id).tries.crashes + TrialOf(id).tries.losses, 0u) << Name(cause);
    Cancel(id.experiment);
  }
  const TrialId lost = TrainWithoutRetries();
  ASSERT_TRUE(Pause(lost.experiment).ok());
  Disconnect("a");
  Advance(limits::kLease + absl::Seconds(1));
  EXPECT_EQ(LastOf(lost).cause, v1::CAUSE_WORKER_LOST);
  EXPECT_EQ(StateOfTrial(lost), v1::TRIAL_PENDING);
}

TEST_F(EditingTest, AStopThatWasAskedForHidesNoResult) {
  AddWorker("a");
  const TrialId finished = TrainWithoutRetries();
  ASSERT_TRUE(Pause(finished.experiment).ok());
  Finish({"a"});
  EXPECT_EQ(StateOfTrial(finished), v1::TRIAL_FINISHED);
  const TrialId oom = TrainWithoutRetries();
  ASSERT_TRUE(Pause(oom.experiment).ok());
  SendItems("a", {Ended("a", v1::CAUSE_OOM)});
  Leave("a");
  EXPECT_EQ(StateOfTrial(oom), v1::TRIAL_FAILED);
  EXPECT_FALSE(LastOf(oom).uncharged);
  const TrialId cancelled = TrainWithoutRetries();
  ASSERT_TRUE(Pause(cancelled.experiment).ok());
  Cancel(cancelled.experiment);
  EXPECT_TRUE(AssignedTo("a")->kill());
  Leave("a");
  EXPECT_EQ(StateOfTrial(cancelled), v1::TRIAL_CANCELLED);
}

TEST_F(EditingTest, AWorkerOrderedToLeaveCostsItsTrialNoRetry) {
  AddWorker("a");
  const TrialId id = TrainWithoutRetries();
  workers_.at("a").draining = true;
  Heartbeat("a");
  SendItems("a", {Ended("a", v1::CAUSE_PREEMPTED)});
  Leave("a");
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_PENDING);
  EXPECT_EQ(TrialOf(id).tries.losses, 0u);
}

TEST_F(EditingTest, ASearchProposesNothingWhileItIsPaused) {
  const ExperimentId id = Submit(Searching("bayes", 3));
  ASSERT_TRUE(Pause(id).ok());
  AddWorker("a");
  ExpectIdle("a");
  EXPECT_TRUE(GetExperiment(state_.durable, id).trials.empty());
  RestartCoordinator();
  Connect("a");
  ExpectIdle("a");
  ASSERT_TRUE(Resume(id).ok());
  ExpectOrders("a", {id, 1}, 0);
}

TEST_F(EditingTest, MaxConcurrentIsChangedWhileTrialsTrain) {
  for (const char* name : {"a", "b", "c"}) AddWorker(name);
  v1::ExperimentSpec spec = Trials(4);
  spec.mutable_search()->set_max_concurrent(1);
  const ExperimentId id = Submit(spec);
  ExpectIdle("b");
  ASSERT_TRUE(SetMaxConcurrent(id, 2).ok());
  ExpectOrders("b", {id, 2}, 0);
  ExpectIdle("c");
  RestartCoordinator();
  for (const char* name : {"a", "b", "c"}) Connect(name);
  ExpectIdle("c");
  ASSERT_TRUE(SetMaxConcurrent(id, 0).ok());
  ExpectOrders("c", {id, 3}, 0);
  ASSERT_TRUE(SetMaxConcurrent(id, 1).ok());
  Train({"a"});
  Finish({"a"});
  ExpectIdle("a");
  const auto edits = Get(id).edits();
  ASSERT_EQ(edits.size(), 3);
  EXPECT_EQ(edits[0].who(), "ann");
  EXPECT_EQ(edits[0].what(), "max_concurrent 1, now 2");
  EXPECT_EQ(edits[1].what(), "max_concurrent 2, now no limit");
}

TEST_F(EditingTest, ARandomSearchExtendedIsTheLargerOneFromTheStart) {
  AddWorker("a");
  const ExperimentId id = Submit(Searching("random", 2));
  for (int i = 0; i < 2; ++i) {
    Train({"a"});
    Finish({"a"});
  }
  EXPECT_EQ(Get(id).summary().state(), v1::EXPERIMENT_FINISHED);
  const auto extended = Extend(id, 5);
  ASSERT_TRUE(extended.ok()) << extended.status();
  EXPECT_EQ(extended->trials(), 5u);
  ExpectOrders("a", {id, 3}, 0);
  EXPECT_EQ(Get(id).summary().state(), v1::EXPERIMENT_RUNNING);
  const std::vector<double> rates = RatesOf(id);
  EXPECT_EQ(rates.size(), 5u);
  RestartCoordinator();
  EXPECT_EQ(RatesOf(id), rates);
  EXPECT_EQ(RatesOf(Submit(Searching("random", 5))), rates);
}

TEST_F(EditingTest, ARandomSearchIsExtendedByAsManyAtATimeAsOneStepCanDraw) {
  const auto make = [](int max_trials) {
    v1::ExperimentSpec spec = Searching("random", max_trials);
    spec.mutable_base()->mutable_model()->set_n_head(16);
    v1::Parameter& width = *spec.add_parameters();
    width.set_path("model.n_embd");  // one of 16 draws is a multiple of n_head
    width.mutable_range()->set_min(16);
    width.mutable_range()->set_max(4096);
    return spec;
  };
  const ExperimentId id = Submit(make(20));
  const auto refused = Extend(id, limits::kTrialsPerExperiment);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(refused.status().message().find("raise max_trials by less"), std::string::npos)
      << refused.status();
  EXPECT_TRUE(last_.records.empty());
  for (const uint32_t trials : {500, 1000}) {
    const auto extended = Extend(id, trials);
    ASSERT_TRUE(extended.ok()) << extended.status();
    EXPECT_TRUE(extended->changed());
  }
  EXPECT_EQ(RatesOf(Submit(make(1000))), RatesOf(id));
}

TEST_F(EditingTest, ASearchThatProposesGoesOnWithMoreTrials) {
  AddWorker("a");
  const ExperimentId id = Submit(Searching("bayes", 1));
  Train({"a"});
  Finish({"a"});
  EXPECT_EQ(Get(id).summary().state(), v1::EXPERIMENT_FINISHED);
  ASSERT_TRUE(Extend(id, 2).ok());
  EXPECT_FALSE(Extend(id, 2)->changed());
  ExpectOrders("a", {id, 2}, 0);
  EXPECT_EQ(Get(id).summary().ended_wall_ms(), 0);
  Train({"a"});
  Finish({"a"});
  EXPECT_EQ(Get(id).summary().state(), v1::EXPERIMENT_FINISHED);
  ExpectIdle("a");
}

TEST_F(EditingTest, OnlyASearchThatMayGoOnIsExtended) {
  const ExperimentId grid = Submit(Trials(2));
  EXPECT_EQ(Extend(grid, 5).status().code(), absl::StatusCode::kFailedPrecondition);
  const ExperimentId id = Submit(Searching("random", 4));
  EXPECT_EQ(Extend(id, 3).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Extend(id, limits::kTrialsPerExperiment + 1).status().code(),
            absl::StatusCode::kInvalidArgument);
  Cancel(id);
  EXPECT_EQ(Extend(id, 8).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(last_.records.empty());
}

TEST_F(EditingTest, AnImpossibleChangeIsRefusedAndLeavesNoTrace) {
  AddWorker("a");
  const TrialId id = TrainWithoutRetries();
  EXPECT_EQ(Call<v1::ChangeResponse>(RequestFor(id.experiment)).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(SetMaxConcurrent(id.experiment, limits::kTrialsPerExperiment + 1).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Pause(id.experiment + 1).status().code(), absl::StatusCode::kNotFound);
  Finish({"a"});
  EXPECT_EQ(Pause(id.experiment).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(last_.records.empty());
  EXPECT_TRUE(Resume(id.experiment).ok()) << "a retry of one that was paused needs it";
}

TEST_F(EditingTest, AUsersNameIsBoundedAndTheOldestEditsAreDropped) {
  const ExperimentId id = Submit(OneTrial());
  v1::ChangeRequest request = RequestFor(id);
  request.set_who(std::string(1000, 'x'));
  request.mutable_pause();
  ASSERT_TRUE(Call<v1::ChangeResponse>(request).ok());
  EXPECT_EQ(Get(id).summary().paused_by(), std::string(limits::kWhoBytes, 'x'));
  for (size_t i = 0; i < limits::kEditsPerExperiment; ++i) {
    ASSERT_TRUE((i % 2 == 0 ? Resume(id) : Pause(id)).ok());
  }
  EXPECT_EQ(Get(id).edits_size(), static_cast<int>(limits::kEditsPerExperiment));
  EXPECT_EQ(Get(id).edits(0).who(), "ann");
}

TEST_F(EditingTest, ASnapshotKeepsThePauseAndTheRequestsToStop) {
  AddWorker("a");
  const TrialId id = TrainWithoutRetries();
  ASSERT_TRUE(Pause(id.experiment).ok());
  const auto loaded = LoadSnapshot(SaveSnapshot(state_.durable, {}));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(HashOf(loaded->state), HashOf(state_.durable));
  const Experiment& experiment = GetExperiment(loaded->state, id.experiment);
  EXPECT_TRUE(experiment.paused);
  EXPECT_EQ(experiment.edits.size(), 1u);
  EXPECT_TRUE(experiment.trials[0].attempts[0].AskedToStop());
}

}  // namespace
}  // namespace dt
