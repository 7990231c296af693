// searching_test.cc: a search's use of results: proposals, rungs, early ends, its own end.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "coordinator/core/facts/snapshot.h"
#include "coordinator/core/model/resolved.h"
#include "tests/testing/core_fixture.h"

namespace dt {
namespace {

class SearchingTest : public CoreTest {
 protected:
  // Every third trial goes on at each of the steps 4, 12 and 34 of 100.
  static v1::ExperimentSpec Asha(int max_trials) {
    v1::ExperimentSpec spec = Searching("asha", max_trials);
    spec.mutable_search()->set_sampler("random");
    return spec;
  }
  const Experiment& ExperimentOf(ExperimentId id) { return GetExperiment(state_.durable, id); }
  v1::ExperimentSummary SummaryOf(ExperimentId id) { return Summarize(state_, ExperimentOf(id)); }
  double RateOf(TrialId id) {
    return ExpandedOf(ExperimentOf(id.experiment), TrialOf(id)).assignments(0).value().number();
  }
  // Returns the trial in this worker's orders.
  TrialId TrialAt(const std::string& worker) {
    const v1::Assigned* assigned = AssignedTo(worker);
    return assigned == nullptr ? TrialId{} : TrialId{assigned->experiment(), assigned->trial()};
  }
  // Validates with these losses at these steps, until a rule ends the trial.
  void Validate(const std::string& worker, const std::vector<std::pair<uint64_t, double>>& losses) {
    const TrialId id = TrialAt(worker);
    for (const auto& [step, loss] : losses) {
      if (IsTerminal(StateOfTrial(id))) return;
      SendItems(worker, {Evaluation(worker, step, loss)});
    }
  }
  void ExpectEarly(TrialId id, const std::string& part_of_why) {
    EXPECT_EQ(StateOfTrial(id), v1::TRIAL_FINISHED) << ToString(id);
    EXPECT_EQ(TrialOf(id).cause, v1::CAUSE_STOPPED_EARLY) << ToString(id);
    EXPECT_NE(TrialOf(id).message.find(part_of_why), std::string::npos) << TrialOf(id).message;
  }
  // Trains and finishes the trial on `worker`; its loss depends on its rate.
  void FinishByRate(const std::string& worker) {
    const double loss = 3 + std::abs(std::log10(RateOf(TrialAt(worker))) + 2.5);
    Train({worker});
    SendItems(worker, {Evaluation(worker, 50, loss)});
    Finish({worker});
  }
};

// An earlier version accepted such a file: its journal must open, and only this search must end.
TEST_F(SearchingTest, ASearchThatCannotProposeEndsWithAReasonAndNothingElseDoes) {
  AddWorker("a");
  v1::SubmitRequest request;
  *request.mutable_spec() = Searching("bayes", 3);
  for (const double bound : {1e308, -1.0}) {
    Submission submission = PrepareSubmission(request, DeviceKind::kCpu, 1);
    ASSERT_TRUE(submission.refused.ok()) << submission.refused;
    v1::Range& range = *submission.record.mutable_experiment_submitted()
                            ->mutable_spec()
                            ->mutable_parameters(0)
                            ->mutable_range();
    range.set_max(bound);
    submission.record.mutable_experiment_submitted()->set_request_id(absl::StrCat(bound));
    const auto answer = Call<v1::SubmitResponse>(submission);
    ASSERT_TRUE(answer.ok()) << answer.status();
    const ExperimentId id = answer->experiment();
    EXPECT_EQ(ExperimentOf(id).trials.size(), 0u);
    Connect("a");
    EXPECT_TRUE(ExperimentOf(id).AllEnded());
    EXPECT_NE(ExperimentOf(id).search_end.find("it can propose no values"), std::string::npos)
        << ExperimentOf(id).search_end;
  }
  RestartCoordinator();
  const ExperimentId next = Submit(OneTrial());
  Connect("a");
  Train({"a"});
  Finish({"a"});
  EXPECT_EQ(StateOfTrial({next, 1}), v1::TRIAL_FINISHED);
}

TEST_F(SearchingTest, ATrialIsProposedWhenItsSlotsAreFoundAndTrainsTheProposal) {
  const ExperimentId id = Submit(Searching("bayes", 2));
  EXPECT_EQ(SummaryOf(id).state(), v1::EXPERIMENT_QUEUED);
  EXPECT_EQ(SummaryOf(id).progress_ratio(), 0);
  EXPECT_EQ(ExperimentOf(id).trials.size(), 0u);
  AddWorker("a");
  ExpectOrders("a", {id, 1}, 0);
  EXPECT_EQ(ExperimentOf(id).trials.size(), 1u) << "the next has no slot yet";
  EXPECT_EQ(AssignedTo("a")->spec().optimizer().lr(), RateOf({id, 1}));
  FinishByRate("a");
  EXPECT_EQ(SummaryOf(id).state(), v1::EXPERIMENT_RUNNING);
  EXPECT_EQ(SummaryOf(id).progress_ratio(), 0.5);
  ExpectOrders("a", {id, 2}, 0);
  FinishByRate("a");
  EXPECT_EQ(SummaryOf(id).state(), v1::EXPERIMENT_FINISHED);
  EXPECT_GT(SummaryOf(id).ended_wall_ms(), 0);
  ExpectIdle("a");
}

TEST_F(SearchingTest, RestartsOfTheCoordinatorChangeNoProposal) {
  std::vector<double> rates;
  for (const bool restarts : {false, true}) {
    BeginAnew();
    const ExperimentId id = Submit(Searching("bayes", 16));
    AddWorker("a");
    for (uint32_t number = 1; number <= 16; ++number) {
      if (restarts) {
        RestartCoordinator();
        Connect("a");
      }
      ASSERT_EQ(TrialAt("a"), (TrialId{id, number}));
      if (restarts) {
        EXPECT_EQ(RateOf({id, number}), rates[number - 1]) << number;
      } else {
        rates.push_back(RateOf({id, number}));
      }
      FinishByRate("a");
    }
    EXPECT_EQ(SummaryOf(id).state(), v1::EXPERIMENT_FINISHED);
  }
  EXPECT_EQ(std::set<double>(rates.begin(), rates.end()).size(), 16u);
}

TEST_F(SearchingTest, AProposalHasItsReasonAndTheModelLearnsFromEndedTrials) {
  const ExperimentId id = Submit(Searching("bayes", 14));
  AddWorker("a");
  std::string reason;
  for (int i = 0; i < 13; ++i) FinishByRate("a");
  for (const v1::Record& record : last_.records) {
    if (record.has_trials_added()) reason = record.trials_added().reasons(0);
  }
  EXPECT_NE(reason.find("tpe"), std::string::npos) << reason;
  EXPECT_EQ(TrialAt("a"), (TrialId{id, 14}));
}

TEST_F(SearchingTest, ASearchKeepsToMaxConcurrentAndToItsPlaceInTheQueue) {
  v1::ExperimentSpec spec = Searching("bayes", 5);
  spec.mutable_search()->set_max_concurrent(2);
  const ExperimentId id = Submit(spec);
  for (const char* name : {"a", "b", "c"}) AddWorker(name);
  EXPECT_EQ(ExperimentOf(id).active, 2u);
  EXPECT_EQ(ExperimentOf(id).trials.size(), 2u);
  ExpectIdle("c");
  const ExperimentId later = Submit(OneTrial());
  ExpectOrders("c", {later, 1}, 0);
}

TEST_F(SearchingTest, ATicketWaitsLikeATrialAndIsNamedInFrontOfOthers) {
  v1::ExperimentSpec gang = Searching("bayes", 3);
  gang.mutable_base()->mutable_resources()->set_gpus(2);
  AddWorker("a");
  AddWorker("b");
  const ExperimentId first = Submit(OneTrial());
  TrainToTheLastStep({"a"});
  const ExperimentId searching = Submit(gang);
  const ExperimentId last = Submit(OneTrial());
  EXPECT_EQ(ExperimentOf(searching).trials.size(), 0u);
  EXPECT_NE(Explain({last, 1}).find(absl::StrCat("the next trial of experiment ", searching)),
            std::string::npos)
      << Explain({last, 1});
  Finish({"a"});
  EXPECT_EQ(StateOfTrial({first, 1}), v1::TRIAL_FINISHED);
  EXPECT_EQ(ExperimentOf(searching).trials.size(), 1u);
  ExpectOrders("a", {searching, 1}, 0);
}

TEST_F(SearchingTest, ASpaceThatIsUsedUpEndsTheSearch) {
  v1::ExperimentSpec spec = Searching("bayes", 10);
  *spec.mutable_parameters() = {};
  spec = Sweep(spec, "train.batch_size", {IntegerValue(4), IntegerValue(8), IntegerValue(16)});
  const ExperimentId id = Submit(spec);
  AddWorker("a");
  for (int i = 0; i < 3; ++i) {
    Train({"a"});
    SendItems("a", {Evaluation("a", 50, 3)});
    Finish({"a"});
  }
  EXPECT_EQ(ExperimentOf(id).trials.size(), 3u);
  EXPECT_EQ(SummaryOf(id).state(), v1::EXPERIMENT_FINISHED);
  EXPECT_EQ(SummaryOf(id).progress_ratio(), 1);
  EXPECT_FALSE(ExperimentOf(id).search_end.empty());
}

TEST_F(SearchingTest, ACancelEndsTheSearchToo) {
  const ExperimentId none = Submit(Searching("bayes", 100));
  EXPECT_EQ(Cancel(none), 0u);
  EXPECT_TRUE(ExperimentOf(none).AllEnded());
  EXPECT_GT(ExperimentOf(none).ended_wall_ms, 0);
  AddWorker("a");
  const ExperimentId one = Submit(Searching("bayes", 100));
  EXPECT_EQ(Cancel(one), 1u);
  Follow("a");
  Leave("a");
  EXPECT_EQ(SummaryOf(one).state(), v1::EXPERIMENT_CANCELLED);
  EXPECT_EQ(ExperimentOf(one).trials.size(), 1u);
  ExpectIdle("a");
}

TEST_F(SearchingTest, AConfigurationIsProposedOnceWithEachSeed) {
  v1::ExperimentSpec spec = Searching("bayes", 3);
  spec.mutable_explicit_paths()->erase(std::find(spec.mutable_explicit_paths()->begin(),
                                                 spec.mutable_explicit_paths()->end(), "seed"));
  for (const int64_t seed : {11, 12}) spec.add_seeds(seed);
  const ExperimentId id = Submit(spec);
  AddWorker("a");
  for (uint32_t number = 1; number <= 6; ++number) {
    ASSERT_EQ(TrialAt("a"), (TrialId{id, number}));
    EXPECT_EQ(AssignedTo("a")->spec().seed(), number % 2 == 1 ? 11 : 12);
    FinishByRate("a");
  }
  EXPECT_EQ(RateOf({id, 1}), RateOf({id, 2}));
  EXPECT_NE(RateOf({id, 2}), RateOf({id, 3}));
  EXPECT_EQ(SummaryOf(id).state(), v1::EXPERIMENT_FINISHED);
}

TEST_F(SearchingTest, AnExperimentWithoutATrialAnswersEveryQuestion) {
  const ExperimentId id = Submit(Searching("bayes", 3));
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

TEST_F(SearchingTest, TheBestIsOneThatNoRungEndedWhateverItsValue) {
  const ExperimentId id = Submit(Asha(2));
  for (const char* name : {"a", "b"}) {
    AddWorker(name);
    Train({name});
  }
  Validate("a", {{4, 3.0}});
  Validate("b", {{3, 2.0}, {4, 3.5}});
  ExpectEarly({id, 2}, "rung 1 (step 4)");
  EXPECT_EQ(SummaryOf(id).best_trial(), 1u) << "though trial 2 was at 2.0 once";
  EXPECT_EQ(SummaryOf(id).best_value(), 3.0);
}

TEST_F(SearchingTest, TheBestOfThreeAtARungGoesOnAndTheOthersEndAtOnce) {
  const ExperimentId id = Submit(Asha(3));
  for (const char* name : {"a", "b", "c"}) AddWorker(name);
  for (const char* name : {"a", "b", "c"}) {
    const auto& at = AssignedTo(name)->validate_at();
    EXPECT_EQ(std::vector<uint64_t>(at.begin(), at.end()), (std::vector<uint64_t>{27, 9, 3}));
    Train({name});
  }
  Validate("a", {{4, 3.0}});  // the first trial at a rung always goes on
  EXPECT_EQ(StateOfTrial({id, 1}), v1::TRIAL_RUNNING);
  Validate("b", {{3, 9.0}, {4, 3.5}});
  ExpectEarly({id, 2}, "rung 1 (step 4)");
  ExpectEarly({id, 2}, "2nd of 2");
  EXPECT_TRUE(AssignedTo("b")->abandon());
  Validate("c", {{4, 2.5}, {12, 2.4}});
  EXPECT_EQ(StateOfTrial({id, 3}), v1::TRIAL_RUNNING);
  Validate("a", {{12, 2.9}});
  ExpectEarly({id, 1}, "rung 2 (step 12)");
  Finish({"c"});
  EXPECT_EQ(TrialOf({id, 3}).cause, v1::CAUSE_FINISHED);
  EXPECT_EQ(SummaryOf(id).state(), v1::EXPERIMENT_FINISHED);
}

TEST_F(SearchingTest, AnAttemptThatComesToARungAgainIsNotJudgedAgain) {
  const ExperimentId id = Submit(Asha(2));
  AddWorker("a");
  AddWorker("b");
  Train({"a"});
  Train({"b"});
  Validate("b", {{4, 3.0}});
  Validate("a", {{4, 2.0}});
  EXPECT_EQ(StateOfTrial({id, 1}), v1::TRIAL_RUNNING) << "the best of two";
  SendItems("a", {Ended("a", v1::CAUSE_TRAINER_CRASH)});
  Leave("a");
  RestartCoordinator();
  Connect("a");
  Connect("b");
  Advance(absl::Seconds(2));
  Train({"a"});
  Validate("a", {{4, 8.0}});
  EXPECT_EQ(StateOfTrial({id, 1}), v1::TRIAL_RUNNING) << "its first entry stands";
  EXPECT_EQ(TrialOf({id, 1}).rungs.size(), 1u);
}

TEST_F(SearchingTest, ATrialThatFailsCountsAsTheWorstAtTheRungItWasHeadingForUntilItIsRetried) {
  const ExperimentId id = Submit(Asha(4));
  for (const char* name : {"a", "b", "c", "d"}) {
    AddWorker(name);
    Train({name});
  }
  SendItems("a", {Ended("a", v1::CAUSE_OOM)});
  ASSERT_EQ(TrialOf({id, 1}).rungs.size(), 1u);
  EXPECT_TRUE(std::isinf(TrialOf({id, 1}).rungs[0].cost));
  SendItems("b", {Ended("b", v1::CAUSE_DATA, 2)});
  ASSERT_EQ(TrialOf({id, 2}).rungs.size(), 1u);
  EXPECT_TRUE(std::isinf(TrialOf({id, 2}).rungs[0].cost));
  Validate("c", {{4, 5.0}});
  EXPECT_EQ(StateOfTrial({id, 3}), v1::TRIAL_RUNNING) << "the best of three entries";
  EXPECT_EQ(RetryFailed(id), 2u);
  EXPECT_TRUE(TrialOf({id, 1}).rungs.empty());
  EXPECT_TRUE(TrialOf({id, 2}).rungs.empty());
}

TEST_F(SearchingTest, OnlyATrialsOwnFailureCountsAtItsNextRung) {
  v1::ExperimentSpec spec = Asha(4);
  spec.mutable_base()->mutable_retries()->set_max(0);
  const ExperimentId id = Submit(spec);
  for (const char* name : {"a", "b", "c", "d"}) {
    AddWorker(name);
    Train({name});
  }
  SendItems("a", {Ended("a", v1::CAUSE_TRAINER_CRASH)});
  EXPECT_EQ(StateOfTrial({id, 1}), v1::TRIAL_FAILED);
  ASSERT_EQ(TrialOf({id, 1}).rungs.size(), 1u);
  EXPECT_TRUE(std::isinf(TrialOf({id, 1}).rungs[0].cost));
  SendItems("b", {Ended("b", v1::CAUSE_COLLECTIVE)});
  EXPECT_EQ(TrialOf({id, 2}).cause, v1::CAUSE_COLLECTIVE);
  EXPECT_TRUE(TrialOf({id, 2}).rungs.empty()) << "the fault lies between the ranks";
  Disconnect("c");
  Advance(2 * limits::kLease);
  EXPECT_EQ(TrialOf({id, 3}).cause, v1::CAUSE_WORKER_LOST);
  EXPECT_TRUE(TrialOf({id, 3}).rungs.empty()) << "it did nothing of that";
  Cancel(id, 4);
  Leave("d");
  EXPECT_TRUE(TrialOf({id, 4}).rungs.empty());
}

TEST_F(SearchingTest, AResultThatComesLateEndsATrialThatWaits) {
  const ExperimentId id = Submit(Asha(2));
  AddWorker("a");
  AddWorker("b");
  Train({"a"});
  Train({"b"});
  Validate("b", {{4, 1.0}});
  const v1::Item late = Evaluation("a", 4, 2.0);
  SendItems("a", {Ended("a", v1::CAUSE_TRAINER_CRASH)});
  EXPECT_EQ(StateOfTrial({id, 1}), v1::TRIAL_PENDING);
  SendItems("a", {late});
  ExpectEarly({id, 1}, "rung 1");
  Leave("a");
  ExpectIdle("a");
}

TEST_F(SearchingTest, TheTargetEndsTheSearchAndRunningTrialsFinish) {
  v1::ExperimentSpec spec = Searching("random", 5);
  spec.mutable_search()->set_target(2.5);
  const ExperimentId id = Submit(spec);
  AddWorker("a");
  AddWorker("b");
  Train({"a"});
  Train({"b"});
  Validate("a", {{10, 3.0}});
  EXPECT_FALSE(ExperimentOf(id).search_ended);
  Validate("a", {{20, 2.5}});
  EXPECT_TRUE(ExperimentOf(id).search_ended);
  for (const uint32_t waiting : {3u, 4u, 5u}) {
    EXPECT_EQ(StateOfTrial({id, waiting}), v1::TRIAL_CANCELLED);
    EXPECT_EQ(TrialOf({id, waiting}).cause, v1::CAUSE_STOPPED_EARLY);
  }
  EXPECT_EQ(StateOfTrial({id, 2}), v1::TRIAL_RUNNING);
  Finish({"a"});
  Finish({"b"});
  EXPECT_EQ(SummaryOf(id).state(), v1::EXPERIMENT_FINISHED);
}

TEST_F(SearchingTest, TooManyFailedTrialsEndTheSearchAndOutOfMemoryIsNotOneOfThem) {
  v1::ExperimentSpec spec = Searching("bayes", 10);
  spec.mutable_search()->set_max_failed_trials(1);
  const ExperimentId id = Submit(spec);
  AddWorker("a");
  for (const v1::Cause cause : {v1::CAUSE_OOM, v1::CAUSE_DATA, v1::CAUSE_NONFINITE}) {
    EXPECT_FALSE(ExperimentOf(id).search_ended);
    Train({"a"});
    SendItems("a", {Ended("a", cause, 5)});
    Leave("a");
  }
  EXPECT_TRUE(ExperimentOf(id).search_ended);
  EXPECT_EQ(ExperimentOf(id).trials.size(), 3u);
  EXPECT_EQ(SummaryOf(id).state(), v1::EXPERIMENT_FAILED);
  ExpectIdle("a");
}

TEST_F(SearchingTest, RulesOfStopEndATrialWithTheirSentence) {
  v1::ExperimentSpec spec = Sweep(OneTrial(), "optimizer.lr", {NumberValue(1), NumberValue(2)});
  spec.mutable_base()->mutable_stop()->set_max_loss(9);
  spec.mutable_base()->mutable_stop()->set_patience(2);
  const ExperimentId id = Submit(spec);
  AddWorker("a");
  AddWorker("b");
  Train({"a"});
  Train({"b"});
  Validate("a", {{1, 5.0}, {2, 9.5}});
  ExpectEarly({id, 1}, "max_loss");
  Validate("b", {{1, 5.0}, {2, 5.5}, {3, 4.9}, {4, 4.9}, {5, 4.95}});
  ExpectEarly({id, 2}, "patience");
  EXPECT_EQ(TrialOf({id, 2}).validated.step, 5u);
}

TEST_F(SearchingTest, ALossThatIsNotANumberEndsATrialOnlyIfTheFileAsksForIt) {
  const ExperimentId plain = Submit(OneTrial());
  v1::ExperimentSpec bounded = OneTrial();
  bounded.mutable_base()->mutable_stop()->set_max_loss(9);
  const ExperimentId id = Submit(bounded);
  AddWorker("a");
  AddWorker("b");
  Train({"a"});
  Train({"b"});
  Validate("a", {{1, kNotANumber}});
  EXPECT_EQ(StateOfTrial({plain, 1}), v1::TRIAL_RUNNING);
  Validate("b", {{1, kNotANumber}});
  ExpectEarly({id, 1}, "not a number");
}

TEST_F(SearchingTest, ATrialWorseThanTheMedianOfTheOthersEndsAlsoAfterARestart) {
  v1::ExperimentSpec spec = OneTrial();
  spec.mutable_base()->mutable_stop()->mutable_median()->set_after(2);
  spec =
      Sweep(spec, "optimizer.lr", {NumberValue(1), NumberValue(2), NumberValue(3), NumberValue(4)});
  const ExperimentId id = Submit(spec);
  const std::vector<std::string> names = {"a", "b", "c", "d"};
  for (const std::string& name : names) {
    AddWorker(name);
    Train({name});
  }
  for (const char* name : {"a", "b", "c"}) Validate(name, {{1, 4.0}, {2, 3.0}});
  RestartCoordinator();
  for (const std::string& name : names) Connect(name);
  Validate("d", {{1, 7.0}});
  EXPECT_EQ(StateOfTrial({id, 4}), v1::TRIAL_RUNNING);
  Validate("d", {{2, 6.0}});
  ExpectEarly({id, 4}, "median");
}

TEST_F(SearchingTest, ASnapshotKeepsDecisions) {
  v1::ExperimentSpec spec = Asha(3);
  spec.mutable_base()->mutable_stop()->mutable_median()->set_after(5);
  Submit(spec);
  AddWorker("a");
  Train({"a"});
  Validate("a", {{2, 5.0}, {4, 4.0}, {6, 4.5}});
  const auto loaded = LoadSnapshot(SaveSnapshot(state_.durable, {}));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(HashOf(loaded->state), HashOf(state_.durable));
}

// The specification allows the metrics that our trainers report; the core allows any.
TEST_F(SearchingTest, TheBestIsByTheExperimentsMetric) {
  AddWorker("a");
  const auto submit = [this](const std::string& metric, const std::string& goal) {
    v1::Record record;
    v1::ExperimentSubmitted& fact = *record.mutable_experiment_submitted();
    fact.set_experiment(state_.durable.next_experiment);
    *fact.mutable_spec() = Sweep(OneTrial(), "optimizer.lr", {NumberValue(0.5), NumberValue(0.25)});
    fact.mutable_spec()->mutable_base()->mutable_train()->set_max_steps(100);
    const auto trials = spec::Expand(fact.spec());
    EXPECT_TRUE(trials.ok()) << trials.status();
    *fact.mutable_trials() = {trials->begin(), trials->end()};
    fact.mutable_spec()->mutable_search()->set_metric(metric);
    fact.mutable_spec()->mutable_search()->set_goal(goal);
    EXPECT_TRUE(KeepResolved(fact).ok());
    journal_.push_back(record.SerializeAsString());
    RestartCoordinator();
    Connect("a");
    return fact.experiment();
  };
  for (const char* metric : {"hellaswag_acc", "hellaswag_acc_norm", "bleu of a program's own"}) {
    SCOPED_TRACE(metric);
    const ExperimentId id = submit(metric, "maximize");
    for (const double value : {0.5, 0.25}) {
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
  const ExperimentId silent = submit("another", "minimize");
  Train({"a"});
  SendItems("a", {Evaluation("a", 50, 1)});
  EXPECT_EQ(SummaryOf(silent).best_trial(), 0u) << "its trial reported no such metric";
}

}  // namespace
}  // namespace dt
