// program_test.cc: trials that run a user's program, in the core: their resolved form, their
// progress, and a search's use of their reports.
#include <gtest/gtest.h>

#include <cmath>

#include "coordinator/core/answer/explain.h"
#include "coordinator/core/answer/summaries.h"
#include "coordinator/core/model/resolved.h"
#include "tests/testing/core_fixture.h"

namespace dt {
namespace {

class ProgramCoreTest : public CoreTest {
 protected:
  static v1::ExperimentSpec Program(int64_t steps) {
    v1::ExperimentSpec spec = OneTrial();
    spec.clear_explicit_paths();
    for (const char* path : {"command", "resources.gpus", "resources.device", "seed"}) {
      spec.add_explicit_paths(path);
    }
    for (const char* word : {"./go", "--lr={lr}"}) spec.mutable_base()->add_command(word);
    spec.mutable_base()->set_steps(steps);
    spec.mutable_search()->set_metric("accuracy");
    spec.mutable_search()->set_goal("maximize");
    return spec;
  }
  static v1::ExperimentSpec Rates(int count, v1::ExperimentSpec spec) {
    std::vector<v1::Value> values;
    for (int i = 1; i <= count; ++i) values.push_back(NumberValue(0.001 * i));
    return Sweep(std::move(spec), "lr", values);
  }
  void Begin(const std::string& worker) {
    Follow(worker);
    Heartbeat(worker);
    SendItems(worker, {Prepared(worker, static_cast<uint64_t>(AssignedTo(worker)->spec().steps())),
                       Running(worker)});
  }
  static v1::ExperimentSpec Minimizing(const std::string& metric) {
    v1::ExperimentSpec spec = Program(100);
    spec.mutable_search()->set_metric(metric);
    spec.mutable_search()->set_goal("minimize");
    return spec;
  }
  void ReportAs(const std::string& worker, uint64_t step, const std::string& name, double value) {
    v1::Item item = Evaluation(worker, step, kNotANumber);
    v1::Metric& metric = *item.mutable_evaluation()->add_metrics();
    metric.set_name(name);
    metric.set_value(value);
    SendItems(worker, {item});
  }
  void Report(const std::string& worker, uint64_t step, double accuracy) {
    v1::Item item = Evaluation(worker, step, kNotANumber);
    v1::Metric& metric = *item.mutable_evaluation()->add_metrics();
    metric.set_name(std::isnan(accuracy) ? "other" : "accuracy");
    metric.set_value(std::isnan(accuracy) ? 1 : accuracy);
    SendItems(worker, {item});
  }
};

TEST_F(ProgramCoreTest, ATrialsOrdersHaveItsFinalCommandAndValues) {
  AddWorker("a");
  const ExperimentId id = Submit(Rates(2, Program(100)));
  const v1::Spec& spec = AssignedTo("a")->spec();
  EXPECT_EQ(spec.command(1), "--lr=0.001");
  ASSERT_EQ(spec.values_size(), 1);
  EXPECT_EQ(spec.values(0).value().number(), 0.001);
  const Experiment& experiment = GetExperiment(state_.durable, id);
  EXPECT_EQ(ResolvedOf(experiment, TrialOf({id, 2}))->command(1), "--lr=0.002");
  RestartCoordinator();
  EXPECT_EQ(ResolvedOf(GetExperiment(state_.durable, id), TrialOf({id, 2}))->command(1),
            "--lr=0.002");
}

TEST_F(ProgramCoreTest, TheSummaryHasTheBestOfTheMetricWithItsStepAndTheNewest) {
  AddWorker("a");
  const TrialId id{Submit(Rates(1, Program(100))), 1};
  EXPECT_EQ(Summarize(state_, id, now_.steady).metric_step(), 0u);
  EXPECT_FALSE(Summarize(state_, id, now_.steady).has_metric_newest());
  Begin("a");
  Report("a", 10, 0.3);
  Report("a", 20, 0.4);
  Report("a", 30, 0.1);
  Report("a", 40, kNotANumber);
  const v1::TrialSummary summary = Summarize(state_, id, now_.steady);
  EXPECT_EQ(summary.metric_value(), 0.4) << "more is better";
  EXPECT_EQ(summary.metric_step(), 20u);
  EXPECT_EQ(summary.metric_newest(), 0.1) << "the evaluation after it says nothing of it";
  EXPECT_TRUE(Summarize(state_, GetExperiment(state_.durable, id.experiment)).program());
}

TEST_F(ProgramCoreTest, ALossReportedBesideOtherMetricsComparesTrials) {
  AddWorker("a");
  v1::ExperimentSpec spec = Program(100);
  spec.mutable_search()->set_metric("loss");
  spec.mutable_search()->set_goal("minimize");
  const TrialId id{Submit(Rates(1, std::move(spec))), 1};
  Begin("a");
  v1::Item item = Evaluation("a", 10, kNotANumber);
  item.mutable_evaluation()->set_train_loss(1.5);
  SendItems("a", {item});
  EXPECT_EQ(Summarize(state_, id, now_.steady).metric_value(), 1.5);
  const Experiment& experiment = GetExperiment(state_.durable, id.experiment);
  EXPECT_EQ(Summarize(state_, experiment).best_trial(), 1u);
}

TEST_F(ProgramCoreTest, AMetricWithoutAFiniteNumberIsAboveMaxLoss) {
  for (const double value : {kNotANumber, HUGE_VAL, -HUGE_VAL}) {
    BeginAnew();
    AddWorker("a");
    v1::ExperimentSpec spec = Minimizing("my_loss");
    spec.mutable_base()->mutable_stop()->set_max_loss(10);
    const TrialId id{Submit(Rates(1, std::move(spec))), 1};
    Begin("a");
    ReportAs("a", 5, "my_loss", 3);
    ReportAs("a", 6, "other", kNotANumber);
    EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING) << "it lacks the metric";
    ReportAs("a", 7, "my_loss", value);
    EXPECT_EQ(TrialOf(id).cause, v1::CAUSE_STOPPED_EARLY) << value;
    EXPECT_EQ(Summarize(state_, id, now_.steady).metric_value(), 3) << value;
  }
}

TEST_F(ProgramCoreTest, AMetricWithoutAFiniteNumberIsOneMoreForPatienceAndNeverTheBest) {
  AddWorker("a");
  v1::ExperimentSpec spec = Program(100);  // it maximizes
  spec.mutable_base()->mutable_stop()->set_patience(3);
  const TrialId id{Submit(Rates(1, std::move(spec))), 1};
  Begin("a");
  ReportAs("a", 10, "accuracy", 0.5);
  ReportAs("a", 20, "accuracy", HUGE_VAL);
  ReportAs("a", 30, "other", 1);
  ReportAs("a", 40, "accuracy", kNotANumber);
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
  ReportAs("a", 50, "accuracy", -HUGE_VAL);
  EXPECT_EQ(TrialOf(id).cause, v1::CAUSE_STOPPED_EARLY);
  EXPECT_EQ(Summarize(state_, id, now_.steady).metric_value(), 0.5);
}

TEST_F(ProgramCoreTest, AMetricWithoutAFiniteNumberIsLastAtARung) {
  for (const char* worker : {"a", "b", "c"}) AddWorker(worker);
  v1::ExperimentSpec spec = Minimizing("my_loss");
  spec.mutable_base()->set_steps(90);
  spec.mutable_search()->set_method("asha");
  spec.mutable_search()->mutable_asha()->set_eta(3);
  spec.mutable_search()->mutable_asha()->set_rungs(2);
  spec.mutable_search()->set_sampler("grid");
  const ExperimentId id = Submit(Rates(3, std::move(spec)));
  for (const char* worker : {"a", "b", "c"}) Begin(worker);
  ReportAs("a", 10, "my_loss", 1e30);
  ReportAs("b", 10, "my_loss", kNotANumber);
  EXPECT_EQ(TrialOf({id, 2}).cause, v1::CAUSE_STOPPED_EARLY);
  ReportAs("c", 10, "my_loss", HUGE_VAL);
  EXPECT_EQ(TrialOf({id, 3}).cause, v1::CAUSE_STOPPED_EARLY);
  EXPECT_EQ(StateOfTrial({id, 1}), v1::TRIAL_RUNNING);
}

TEST_F(ProgramCoreTest, ACommandIsStoredOnceHoweverManyTrialsHaveIt) {
  v1::ExperimentSpec spec = Program(100);
  spec.mutable_base()->add_command(std::string(10'000, 'x'));
  const ExperimentId id = Submit(Rates(50, std::move(spec)));
  const Experiment& experiment = GetExperiment(state_.durable, id);
  for (const Trial& trial : experiment.trials) EXPECT_LT(trial.expanded.size(), 100u);
  EXPECT_EQ(ResolvedOf(experiment, TrialOf({id, 50}))->command(2).size(), 10'000u);
}

TEST_F(ProgramCoreTest, AProgramWithoutStepsRunsReportsAndFinishes) {
  AddWorker("a");
  const TrialId id{Submit(Rates(1, Program(0))), 1};
  Begin("a");
  Report("a", 7, 0.5);
  EXPECT_EQ(TrialOf(id).evaluations.back().metric, 0.5);
  Finish({"a"}, 9);
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_FINISHED);
  EXPECT_EQ(TrialOf(id).attempts.size(), 1u);
}

TEST_F(ProgramCoreTest, AProgramMayEndBeforeItsLastStep) {
  AddWorker("a");
  const TrialId id{Submit(Rates(1, Program(100))), 1};
  Begin("a");
  Finish({"a"}, 40);
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_FINISHED);
}

TEST_F(ProgramCoreTest, ReportsWithoutTheMetricCountForNothing) {
  v1::ExperimentSpec spec = Program(100);
  spec.mutable_base()->mutable_stop()->set_patience(2);
  spec.add_explicit_paths("stop.patience");
  AddWorker("a");
  const TrialId id{Submit(Rates(1, std::move(spec))), 1};
  Begin("a");
  Report("a", 1, 0.5);
  for (uint64_t step = 2; step < 8; ++step) Report("a", step, kNotANumber);
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
  Report("a", 8, 0.4);
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
  Report("a", 9, 0.5);
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_FINISHED);
  EXPECT_EQ(TrialOf(id).cause, v1::CAUSE_STOPPED_EARLY);
}

TEST_F(ProgramCoreTest, AReportCountsForTheHighestPassedRung) {
  v1::ExperimentSpec spec = Program(100);
  v1::Parameter& rate = *spec.add_parameters();
  rate.set_path("lr");
  rate.mutable_range()->set_min(0);
  rate.mutable_range()->set_max(1);
  spec.mutable_search()->set_method("asha");
  spec.mutable_search()->set_sampler("random");
  spec.mutable_search()->set_max_trials(2);
  AddWorker("a");
  AddWorker("b");
  const ExperimentId id = Submit(std::move(spec));  // rungs at 4, 12 and 34
  Begin("a");
  Begin("b");
  Report("a", 3, 0.1);
  EXPECT_TRUE(TrialOf({id, 1}).rungs.empty());
  Report("a", 15, 0.9);
  ASSERT_EQ(TrialOf({id, 1}).rungs.size(), 1u);
  EXPECT_EQ(TrialOf({id, 1}).rungs[0].step, 12u);
  EXPECT_EQ(StateOfTrial({id, 1}), v1::TRIAL_RUNNING);
  Report("b", 13, 0.2);
  EXPECT_EQ(TrialOf({id, 2}).cause, v1::CAUSE_STOPPED_EARLY);
}

TEST_F(ProgramCoreTest, AMissingMetricIsReportedDuringAndAfterTheRun) {
  AddWorker("a");
  const TrialId id{Submit(Rates(1, Program(100))), 1};
  const auto hint = [&] { return Summarize(state_, id, now_.steady).hint(); };
  Begin("a");
  EXPECT_EQ(hint(), "");
  auto& holding = workers_.at("a").holding;
  ASSERT_EQ(holding.size(), 1u);
  holding.begin()->second.set_hint("it has reported nothing yet");
  Heartbeat("a");
  EXPECT_EQ(hint(), "it has reported nothing yet");
  EXPECT_NE(ExplainSentences(state_, id, now_.steady).find("nothing yet"), std::string::npos);
  v1::Item ended = Ended("a", v1::CAUSE_FINISHED, 9);
  ended.mutable_ended()->set_hint("it reported nothing");
  SendItems("a", {ended});
  EXPECT_EQ(hint(), "it reported nothing");
  RestartCoordinator();
  EXPECT_EQ(hint(), "it reported nothing");
  EXPECT_EQ(ExplainSentences(state_, id, now_.steady),
            "finished after 1 attempt: because of finished; it reported nothing");
}

TEST_F(ProgramCoreTest, ACancelledTrialKeepsItsKnownResults) {
  AddWorker("a");
  const TrialId id{Submit(Rates(1, Program(100))), 1};
  Begin("a");
  workers_.at("a").holding.begin()->second.set_hint("it has reported nothing yet");
  Heartbeat("a");
  Cancel(id.experiment);
  Advance(absl::Seconds(30));
  EXPECT_EQ(Summarize(state_, id, now_.steady).hint(), "it has reported nothing yet");
}

TEST_F(ProgramCoreTest, StepZeroIsAStepAndARetryFromTheStartTakesItsPlace) {
  AddWorker("a");
  const TrialId id{Submit(Rates(1, Program(100))), 1};
  Begin("a");
  SendItems("a", {Rows("a", 0, 3)});
  ASSERT_EQ(chunks_.size(), 1u);
  SendItems("a", {Rows("a", 0, 3)});
  EXPECT_EQ(chunks_.size(), 1u) << "once";
  Report("a", 0, 0.5);
  EXPECT_EQ(Summarize(state_, id, now_.steady).metric_value(), 0.5);
  std::vector<Attempt> attempts(2);
  attempts[1].ran = true;
  EXPECT_FALSE(IsValid(attempts, 1, 0));
  attempts[1].resumed_step = 5;
  EXPECT_TRUE(IsValid(attempts, 1, 5));
  EXPECT_FALSE(IsValid(attempts, 1, 6));
}

TEST_F(ProgramCoreTest, ALaterReportOfAStepIsAccepted) {
  AddWorker("a");
  const TrialId id{Submit(Rates(1, Program(100))), 1};
  Begin("a");
  Report("a", 10, kNotANumber);
  Report("a", 10, 0.5);
  EXPECT_EQ(Summarize(state_, id, now_.steady).metric_value(), 0.5);
  Report("a", 9, 0.9);
  EXPECT_EQ(Summarize(state_, id, now_.steady).metric_value(), 0.5) << "steps do not go back";
}

TEST_F(ProgramCoreTest, ABoundOfLossIsABoundOfItsMetric) {
  v1::ExperimentSpec spec = Program(100);
  spec.mutable_search()->set_metric("accuracy");
  spec.mutable_search()->set_goal("minimize");
  spec.mutable_base()->mutable_stop()->set_max_loss(3);
  spec.add_explicit_paths("stop.max_loss");
  AddWorker("a");
  const TrialId id{Submit(Rates(1, std::move(spec))), 1};
  Begin("a");
  Report("a", 1, 2.5);
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
  Report("a", 2, 3.5);
  EXPECT_EQ(TrialOf(id).cause, v1::CAUSE_STOPPED_EARLY);
}

}  // namespace
}  // namespace dt
