// data_hold_test.cc: missing data hold an experiment, and fail no trial.
#include "coordinator/core/run/data_hold.h"

#include <gtest/gtest.h>

#include <string>

#include "coordinator/core/answer/summaries.h"
#include "tests/testing/core_fixture.h"

namespace dt {
namespace {

constexpr char kMissing[] = "data.train 'x*.bin' matches no file under the data root '/d'";

v1::Value Text(const std::string& text) {
  v1::Value value;
  value.set_text(text);
  return value;
}

class DataHoldTest : public CoreTest {
 protected:
  // Ends the worker's trainer because of its data, before its first step.
  void FailForData(const std::string& worker) {
    Follow(worker);
    v1::Item item = Ended(worker, v1::CAUSE_DATA);
    item.mutable_ended()->set_message(kMissing);
    SendItems(worker, {item});
    Leave(worker);
  }
  void Resume(ExperimentId id) {
    v1::ChangeRequest request;
    request.set_experiment(id);
    request.mutable_resume();
    ASSERT_TRUE(Call<v1::ChangeResponse>(request).ok());
  }
  const Experiment& ExperimentOf(ExperimentId id) { return GetExperiment(state_.durable, id); }
  std::string WaitingOf(ExperimentId id) {
    v1::ListExperimentsRequest request;
    request.set_experiment(id);
    return Call<v1::ListExperimentsResponse>(request)->experiments(0).waiting();
  }
};

TEST_F(DataHoldTest, MissingDataPauseTheExperimentWithOneSentenceAndFailNothing) {
  AddWorker("a");
  const ExperimentId id = Submit(Trials(1000));
  FailForData("a");
  ExpectIdle("a");
  const Experiment& experiment = ExperimentOf(id);
  EXPECT_TRUE(experiment.paused);
  EXPECT_EQ(experiment.failed, 0u);
  EXPECT_EQ(experiment.pending, 1000u);
  EXPECT_EQ(experiment.paused_why, std::string(kMissing) +
                                       " (worker a); put it there and 'dtctl resume 1', or 'dtctl "
                                       "cancel 1/1' before that to go on without this trial");
  EXPECT_EQ(WaitingOf(id), "experiment is paused: " + experiment.paused_why);
  EXPECT_EQ(TrialOf({id, 1}).attempts.back().cause, v1::CAUSE_DATA);
  EXPECT_EQ(Summarize(state_, ExperimentOf(id)).paused_why(), experiment.paused_why);
}

TEST_F(DataHoldTest, AResumedExperimentTriesAgainAnyNumberOfTimesWithoutUsingRetries) {
  AddWorker("a");
  v1::ExperimentSpec spec = OneTrial();
  spec.mutable_base()->mutable_retries()->set_max(0);
  const ExperimentId id = Submit(spec);
  for (int i = 0; i < 5; ++i) {
    FailForData("a");
    EXPECT_TRUE(ExperimentOf(id).paused) << i;
    Resume(id);
    EXPECT_TRUE(ExperimentOf(id).paused_why.empty());
  }
  Train({"a"});
  Finish({"a"});
  EXPECT_EQ(StateOfTrial({id, 1}), v1::TRIAL_FINISHED);
}

TEST_F(DataHoldTest, TrialsThatStartedTogetherWaitTogether) {
  AddWorker("a");
  AddWorker("b");
  const ExperimentId id = Submit(Trials(4));
  FailForData("a");
  FailForData("b");
  EXPECT_EQ(ExperimentOf(id).pending, 4u);
  EXPECT_EQ(ExperimentOf(id).edits.size(), 1u) << "held once";
  ExpectIdle("a");
  ExpectIdle("b");
}

TEST_F(DataHoldTest, ARunningTrialGoesOnWhileOthersLackTheirData) {
  AddWorker("a");
  AddWorker("b");
  const ExperimentId id = Submit(Trials(3));
  Train({"a"});
  FailForData("b");
  EXPECT_TRUE(ExperimentOf(id).paused);
  EXPECT_EQ(StateOfTrial({id, 1}), v1::TRIAL_RUNNING);
  EXPECT_EQ(WaitingOf(id), "") << "something of it runs";
  Finish({"a"});
  EXPECT_NE(WaitingOf(id).find(kMissing), std::string::npos);
}

TEST_F(DataHoldTest, ATrialWithDataOfItsOwnFailsAloneOnceAnotherHasTrained) {
  AddWorker("a");
  const ExperimentId id = Submit(Sweep(OneTrial(), "data.train", {Text("y*.bin"), Text("x*.bin")}));
  Train({"a"});
  Finish({"a"});
  FailForData("a");
  EXPECT_FALSE(ExperimentOf(id).paused);
  EXPECT_EQ(StateOfTrial({id, 2}), v1::TRIAL_FAILED);
  EXPECT_EQ(TrialOf({id, 2}).cause, v1::CAUSE_DATA);
}

TEST_F(DataHoldTest, ATrialThatTrainedBeforeFailsForDataThatChanged) {
  AddWorker("a");
  const TrialId id{Submit(OneTrial()), 1};
  Train({"a"});
  SendItems("a", {Ended("a", v1::CAUSE_DATA, 5)});
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_FAILED);
  EXPECT_FALSE(ExperimentOf(id.experiment).paused);
}

TEST_F(DataHoldTest, ARestartKnowsThatItIsHeldAndWhy) {
  AddWorker("a");
  const ExperimentId id = Submit(Trials(2));
  FailForData("a");
  const std::string why = ExperimentOf(id).paused_why;
  RestartCoordinator();
  Connect("a");
  EXPECT_TRUE(ExperimentOf(id).paused);
  EXPECT_EQ(ExperimentOf(id).paused_why, why);
  ExpectIdle("a");
}

TEST_F(DataHoldTest, WithoutAConnectedWorkerTheReasonNamesThat) {
  const ExperimentId id = Submit(OneTrial());
  EXPECT_NE(WaitingOf(id), "");
  const ExperimentId proposes = Submit(Searching("bayes", 3));
  EXPECT_NE(WaitingOf(proposes), "");
}

}  // namespace
}  // namespace dt
