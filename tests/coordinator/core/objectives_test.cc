// objectives_test.cc: searches with several objectives, and constraints, in the core.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "coordinator/core/answer/summaries.h"
#include "coordinator/core/facts/hash.h"
#include "coordinator/core/facts/snapshot.h"
#include "coordinator/core/keep/search_index.h"
#include "coordinator/core/model/trial_objectives.h"
#include "tests/testing/core_fixture.h"

namespace dt {
namespace {

class ObjectivesTest : public CoreTest {
 protected:
  static v1::ExperimentSpec Program(int trials) {
    v1::ExperimentSpec spec = OneTrial();
    spec.clear_explicit_paths();
    for (const char* path : {"command", "resources.gpus", "resources.device", "seed"}) {
      spec.add_explicit_paths(path);
    }
    for (const char* word : {"./go", "--lr={lr}"}) spec.mutable_base()->add_command(word);
    spec.mutable_base()->set_steps(100);
    spec.mutable_search()->set_metric("val_loss");
    spec.mutable_search()->set_goal("minimize");
    std::vector<v1::Value> values;
    for (int i = 1; i <= trials; ++i) values.push_back(NumberValue(0.001 * i));
    return Sweep(std::move(spec), "lr", values);
  }
  static v1::ExperimentSpec Several(int trials) {
    v1::ExperimentSpec spec = Program(trials);
    v1::Search& search = *spec.mutable_search();
    for (const char* metric : {"val_loss", "accuracy"}) search.add_metrics(metric);
    for (const char* goal : {"minimize", "maximize"}) search.add_goals(goal);
    return spec;
  }
  using Numbers = std::map<std::string, double>;
  void Begin() {
    Follow("a");
    Heartbeat("a");
    SendItems("a", {Prepared("a", 100), Running("a")});
  }
  void Report(uint64_t step, const Numbers& numbers) {
    v1::Item item = Evaluation("a", step, kNotANumber);
    for (const auto& [name, value] : numbers) {
      v1::Metric& metric = *item.mutable_evaluation()->add_metrics();
      metric.set_name(name);
      metric.set_value(value);
    }
    SendItems("a", {item});
  }
  void RunTrial(const Numbers& numbers) {
    Begin();
    Report(100, numbers);
    Finish({"a"});
  }
  v1::ExperimentSummary Summary(ExperimentId id) {
    return Summarize(state_, GetExperiment(state_.durable, id));
  }
  v1::TrialSummary Summary(TrialId id) { return Summarize(state_, id, now_.steady); }
};

std::vector<uint32_t> FrontOf(const v1::ExperimentSummary& summary) {
  return {summary.pareto_trials().begin(), summary.pareto_trials().end()};
}

TEST_F(ObjectivesTest, TheFrontHasFinishedTrialsThatNoOtherDominates) {
  AddWorker("a");
  const ExperimentId id = Submit(Several(5));
  RunTrial({{"val_loss", 2}, {"accuracy", 0.5}});
  EXPECT_EQ(FrontOf(Summary(id)), (std::vector<uint32_t>{1}));
  RunTrial({{"val_loss", 3}, {"accuracy", 0.4}});  // behind the first
  RunTrial({{"val_loss", 4}, {"accuracy", 0.9}});
  EXPECT_EQ(FrontOf(Summary(id)), (std::vector<uint32_t>{1, 3}));
  RunTrial({{"val_loss", 1}, {"accuracy", 0.6}});  // ahead of the first
  EXPECT_EQ(FrontOf(Summary(id)), (std::vector<uint32_t>{3, 4}));
  RunTrial({{"val_loss", 0}});  // without an accuracy
  EXPECT_EQ(FrontOf(Summary(id)), (std::vector<uint32_t>{3, 4}));
  EXPECT_TRUE(Summary({id, 3}).pareto());
  EXPECT_FALSE(Summary({id, 1}).pareto());
  ASSERT_EQ(Summary({id, 4}).objectives_size(), 2);
  EXPECT_EQ(Summary({id, 4}).objectives(1), 0.6);
  RestartCoordinator();
  EXPECT_EQ(FrontOf(Summary(id)), (std::vector<uint32_t>{3, 4}));
}

TEST_F(ObjectivesTest, TheNewestValuesCountNotTheBestOfEach) {
  AddWorker("a");
  const ExperimentId id = Submit(Several(1));
  Begin();
  Report(50, {{"val_loss", 1}, {"accuracy", 0.9}});
  EXPECT_TRUE(FrontOf(Summary(id)).empty()) << "it trains";
  Report(100, {{"val_loss", 2}});
  Finish({"a"});
  EXPECT_EQ(Summary({id, 1}).objectives(0), 2);
  EXPECT_EQ(Summary({id, 1}).objectives(1), 0.9) << "a later report says nothing of it";
  EXPECT_EQ(Summary({id, 1}).metric_value(), 2);
}

TEST_F(ObjectivesTest, ATrialThatBreaksAConstraintIsNeverTheBest) {
  AddWorker("a");
  v1::ExperimentSpec spec = Program(3);
  spec.mutable_search()->add_constraints("latency_ms <= 20");
  const ExperimentId id = Submit(spec);
  RunTrial({{"val_loss", 1}, {"latency_ms", 31}});
  EXPECT_EQ(StateOfTrial({id, 1}), v1::TRIAL_FINISHED) << "it ends normally";
  EXPECT_EQ(Summary({id, 1}).infeasible(), "latency_ms 31 breaks latency_ms <= 20");
  EXPECT_EQ(Summary(id).best_trial(), 0u);
  RunTrial({{"val_loss", 2}, {"latency_ms", 19}});
  EXPECT_EQ(Summary(id).best_trial(), 2u);
  EXPECT_EQ(Summary({id, 2}).infeasible(), "");
  RunTrial({{"val_loss", 0}});
  EXPECT_EQ(Summary({id, 3}).infeasible(), "no latency_ms breaks latency_ms <= 20");
  EXPECT_EQ(Summary(id).best_trial(), 2u);
  EXPECT_EQ(Summary(id).infeasible(), 2u);
  RestartCoordinator();
  EXPECT_EQ(Summary(id).infeasible(), 2u);
  EXPECT_EQ(Summary(id).best_trial(), 2u);
}

TEST_F(ObjectivesTest, ASnapshotKeepsTheValues) {
  AddWorker("a");
  const ExperimentId id = Submit(Several(2));
  RunTrial({{"val_loss", 2}, {"accuracy", 0.5}});
  const auto loaded = LoadSnapshot(SaveSnapshot(state_.durable, {}));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(HashOf(loaded->state), HashOf(state_.durable));
  EXPECT_EQ(GetTrial(loaded->state, {id, 1}).watched, (std::vector<double>{2, 0.5}));
}

TEST_F(ObjectivesTest, ConstraintsHoldAfterASnapshotIsLoaded) {
  AddWorker("a");
  v1::ExperimentSpec spec = Several(2);
  spec.mutable_search()->add_constraints("latency_ms <= 20");
  const ExperimentId id = Submit(spec);
  RunTrial({{"val_loss", 1}, {"accuracy", 0.5}, {"latency_ms", 31}});
  const auto loaded = LoadSnapshot(SaveSnapshot(state_.durable, {}));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const Experiment& experiment = GetExperiment(loaded->state, id);
  EXPECT_EQ(experiment.watches.metrics, GetExperiment(state_.durable, id).watches.metrics);
  EXPECT_EQ(InfeasibleText(experiment, experiment.trials[0]),
            "latency_ms 31 breaks latency_ms <= 20");
}

TEST_F(ObjectivesTest, ATargetIsReachedOnlyByATrialThatKeepsTheConstraints) {
  AddWorker("a");
  v1::ExperimentSpec spec = Program(2);
  spec.mutable_search()->add_constraints("latency_ms <= 20");
  spec.mutable_search()->set_target(3);
  const ExperimentId id = Submit(spec);
  Begin();
  Report(50, {{"val_loss", 1}, {"latency_ms", 31}});
  EXPECT_FALSE(GetExperiment(state_.durable, id).search_ended);
  Report(60, {{"val_loss", 1}, {"latency_ms", 3}});
  EXPECT_TRUE(GetExperiment(state_.durable, id).search_ended);
}

TEST_F(ObjectivesTest, ARungEndsATrialThatBreaksAConstraint) {
  AddWorker("a");
  v1::ExperimentSpec spec = Program(2);
  v1::Search& search = *spec.mutable_search();
  search.set_method("asha");
  search.set_sampler("random");
  search.set_max_trials(2);
  search.mutable_asha()->set_eta(2);
  search.mutable_asha()->set_rungs(1);
  search.add_constraints("latency_ms <= 20");
  const ExperimentId id = Submit(spec);
  Begin();
  Report(50, {{"val_loss", 1}, {"latency_ms", 31}});
  const Trial& trial = GetTrial(state_.durable, {id, 1});
  ASSERT_EQ(trial.rungs.size(), 1u);
  EXPECT_FALSE(trial.rungs[0].goes_on) << "the first at a rung goes on if it is feasible";
  v1::GetExperimentRequest request;
  request.set_experiment(id);
  const auto shown = Call<v1::GetExperimentResponse>(request);
  ASSERT_TRUE(shown.ok()) << shown.status();
  ASSERT_EQ(shown->rungs_size(), 1);
  EXPECT_EQ(shown->rungs(0).entered(), 1u);
  EXPECT_EQ(shown->rungs(0).failed(), 0u);
}

}  // namespace
}  // namespace dt
