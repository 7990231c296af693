// growing_test.cc: an experiment whose trials come one by one, as a search will propose them.
#include <gtest/gtest.h>

#include "coordinator/core/resolved.h"
#include "tests/testing/core_fixture.h"

namespace dt {
namespace {

class GrowingTest : public CoreTest {
 protected:
  // Journalled as a search's submission is: so many trials planned, none of them known yet.
  ExperimentId BeginSearch(uint32_t planned, const std::string& metric = "val_loss",
                           const std::string& goal = "minimize") {
    v1::Record record;
    v1::ExperimentSubmitted& fact = *record.mutable_experiment_submitted();
    fact.set_experiment(state_.durable.next_experiment);
    *fact.mutable_spec() = OneTrial();
    fact.mutable_spec()->mutable_base()->mutable_train()->set_max_steps(100);
    fact.mutable_spec()->mutable_search()->set_metric(metric);
    fact.mutable_spec()->mutable_search()->set_goal(goal);
    fact.set_planned_trials(planned);
    EXPECT_TRUE(KeepResolved(fact).ok());
    EXPECT_TRUE(Apply(state_.durable, record).ok());
    journal_.push_back(record.SerializeAsString());
    return fact.experiment();
  }
  void Propose(ExperimentId id, double rate) {
    TrialsProposed proposed;
    proposed.added.set_experiment(id);
    proposed.added.set_origin(v1::TrialsAdded::SAMPLED);
    proposed.added.add_reasons("drawn");
    v1::Assignment& assignment = *proposed.added.add_trials()->add_assignments();
    assignment.set_path("optimizer.lr");
    assignment.mutable_value()->set_number(rate);
    Feed({.what = std::move(proposed)});
  }
  void EndSearch(ExperimentId id, uint32_t trial) {
    SearchOver over;
    over.ended.set_experiment(id);
    over.ended.set_why(v1::SearchEnded::TARGET);
    over.ended.set_trial(trial);
    over.ended.set_reason("trial 1 reached 3.1");
    Feed({.what = std::move(over)});
  }
  v1::ExperimentSummary SummaryOf(ExperimentId id) {
    return Summarize(state_, GetExperiment(state_.durable, id));
  }
};

TEST_F(GrowingTest, ATrialThatIsProposedIsPlacedAndTrainsWhatWasProposed) {
  AddWorker("a");
  const ExperimentId id = BeginSearch(2);
  EXPECT_EQ(SummaryOf(id).state(), v1::EXPERIMENT_QUEUED);
  EXPECT_EQ(SummaryOf(id).trials(), 0u);
  EXPECT_EQ(SummaryOf(id).progress_ratio(), 0);
  ExpectIdle("a");
  Propose(id, 0.25);
  ExpectOrders("a", {id, 1}, 0);
  EXPECT_EQ(AssignedTo("a")->spec().optimizer().lr(), 0.25);
  Train({"a"});
  Finish({"a"});
  EXPECT_EQ(StateOfTrial({id, 1}), v1::TRIAL_FINISHED);
  EXPECT_EQ(SummaryOf(id).state(), v1::EXPERIMENT_RUNNING) << "another one is planned";
  EXPECT_EQ(SummaryOf(id).progress_ratio(), 0.5);
  EXPECT_EQ(SummaryOf(id).ended_wall_ms(), 0);
  Propose(id, 0.5);
  Train({"a"});
  Finish({"a"});
  EXPECT_EQ(SummaryOf(id).state(), v1::EXPERIMENT_FINISHED);
  EXPECT_GT(SummaryOf(id).ended_wall_ms(), 0);
}

TEST_F(GrowingTest, ASearchThatEndsEndsTheExperimentOnceItsTrialsHaveEnded) {
  AddWorker("a");
  const ExperimentId id = BeginSearch(100);
  Propose(id, 0.25);
  Train({"a"});
  EndSearch(id, 1);
  EXPECT_EQ(SummaryOf(id).state(), v1::EXPERIMENT_RUNNING);
  Finish({"a"});
  EXPECT_EQ(SummaryOf(id).state(), v1::EXPERIMENT_FINISHED);
  EXPECT_EQ(SummaryOf(id).progress_ratio(), 1);
  Propose(id, 0.5);
  EXPECT_EQ(GetExperiment(state_.durable, id).trials.size(), 1u) << "it came too late";
  EndSearch(id, 1);
  EXPECT_TRUE(last_.records.empty());
}

TEST_F(GrowingTest, ACancelEndsTheSearchToo) {
  AddWorker("a");
  const ExperimentId none = BeginSearch(100);
  EXPECT_EQ(Cancel(none), 0u);
  EXPECT_TRUE(GetExperiment(state_.durable, none).AllEnded());
  EXPECT_GT(GetExperiment(state_.durable, none).ended_wall_ms, 0);
  const ExperimentId one = BeginSearch(100);
  Propose(one, 0.25);
  EXPECT_EQ(Cancel(one), 1u);
  Follow("a");
  Leave("a");
  EXPECT_EQ(SummaryOf(one).state(), v1::EXPERIMENT_CANCELLED);
  Propose(one, 0.5);
  EXPECT_EQ(GetExperiment(state_.durable, one).trials.size(), 1u);
}

TEST_F(GrowingTest, ProposedTrialsOutliveTheCoordinator) {
  const ExperimentId id = BeginSearch(3);
  Propose(id, 0.25);
  Propose(id, 0.5);
  RestartCoordinator();
  AddWorker("a");
  Tick();
  ExpectOrders("a", {id, 1}, 0);
  EXPECT_EQ(AssignedTo("a")->spec().optimizer().lr(), 0.25);
  Propose(id, 0.75);
  EXPECT_EQ(GetExperiment(state_.durable, id).trials.size(), 3u);
}

TEST_F(GrowingTest, AnExperimentWithoutATrialAnswersEveryQuestion) {
  const ExperimentId id = BeginSearch(3);
  v1::ListTrialsRequest trials;
  trials.set_experiment(id);
  const auto listed = Call<v1::ListTrialsResponse>(trials);
  ASSERT_TRUE(listed.ok());
  EXPECT_EQ(listed->experiment(), id);
  EXPECT_TRUE(listed->trials().empty());
  v1::ListCheckpointsRequest checkpoints;
  checkpoints.set_experiment(id);
  EXPECT_TRUE(Call<v1::ListCheckpointsResponse>(checkpoints).ok());
  v1::ExplainTrialRequest explain;
  explain.set_experiment(id);
  explain.set_trial(1);
  EXPECT_EQ(Call<v1::ExplainTrialResponse>(explain).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(GrowingTest, ATrialThatDoesNotResolveIsLeftOut) {
  const ExperimentId id = BeginSearch(3);
  TrialsProposed proposed;
  proposed.added.set_experiment(id);
  proposed.added.add_trials()->add_assignments()->set_path("no.such.field");
  Feed({.what = std::move(proposed)});
  EXPECT_TRUE(last_.records.empty());
  EXPECT_EQ(last_.log_lines.size(), 1u);
}

TEST_F(GrowingTest, TheBestIsThatOfTheMetricTheExperimentNames) {
  AddWorker("a");
  for (const char* metric : {"hellaswag_acc", "hellaswag_acc_norm", "bleu of a program's own"}) {
    SCOPED_TRACE(metric);
    const ExperimentId id = BeginSearch(2, metric, "maximize");
    for (const double value : {0.5, 0.25}) {
      Propose(id, value);
      Train({"a"});
      v1::Item item = Evaluation("a", 50, 3 * value);
      item.mutable_evaluation()->set_hellaswag_acc(value);
      item.mutable_evaluation()->set_hellaswag_acc_norm(value);
      v1::Metric& named = *item.mutable_evaluation()->add_metrics();
      named.set_name("bleu of a program's own");
      named.set_value(value);
      SendItems("a", {item});
      Finish({"a"});
    }
    EXPECT_EQ(SummaryOf(id).best_trial(), 1u);
    EXPECT_EQ(SummaryOf(id).best_value(), 0.5);
  }
  const ExperimentId silent = BeginSearch(1, "another", "minimize");
  Propose(silent, 0.5);
  Train({"a"});
  SendItems("a", {Evaluation("a", 50, 1)});
  EXPECT_EQ(SummaryOf(silent).best_trial(), 0u) << "its trial told nothing of that name";
}

}  // namespace
}  // namespace dt
