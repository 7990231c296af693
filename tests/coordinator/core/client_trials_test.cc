// client_trials_test.cc: trials that run in clients: ask, suggest, report, tell; their leases, and
// restarts of the coordinator between two calls.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "common/client_limits.h"
#include "common/client_trial.h"
#include "coordinator/core/model/turn.h"
#include "coordinator/core/run/clients.h"
#include "coordinator/core/run/workers.h"
#include "tests/testing/core_fixture.h"

namespace dt {
namespace {

class ClientTrialsTest : public CoreTest {
 protected:
  ClientTrialsTest() { Advance(limits::kStartupGrace); }

  static v1::ExperimentSpec InClients(int max_trials) {
    v1::ExperimentSpec spec = OneTrial();
    spec.clear_explicit_paths();
    for (const char* path : {"command", "seed", "retries.max", "retries.backoff"}) {
      spec.add_explicit_paths(path);
    }
    spec.mutable_base()->add_command(std::string(kClientTrialWord));
    spec.mutable_base()->mutable_train()->set_max_steps(2);  // has no meaning, and stays
    v1::Parameter& rate = *spec.add_parameters();
    rate.set_path("lr");
    rate.mutable_range()->set_min(1e-5);
    rate.mutable_range()->set_max(1e-1);
    rate.mutable_range()->set_scale("log");
    spec.mutable_search()->set_method("bayes");
    spec.mutable_search()->set_max_trials(max_trials);
    return spec;
  }
  static v1::ExperimentSpec DefineByRun(int max_trials) {
    v1::ExperimentSpec spec = InClients(max_trials);
    spec.mutable_base()->add_command(std::string(kDefineByRunWord));
    spec.clear_parameters();
    return spec;
  }
  absl::StatusOr<v1::AskTrialResponse> Ask(ExperimentId experiment, uint64_t asker,
                                           absl::Duration lease = absl::ZeroDuration()) {
    v1::AskTrialRequest request;
    request.set_experiment(experiment);
    request.set_asker(asker);
    request.set_host("laptop");
    request.set_lease_seconds(absl::ToDoubleSeconds(lease));
    auto answer = Call<v1::AskTrialResponse>(request);
    if (answer.ok() && answer->trial() > 0) tokens_[asker] = answer->attempt_token();
    return answer;
  }
  template <typename Request>
  Request Of(ExperimentId experiment, uint64_t asker) {
    Request request;
    request.set_experiment(experiment);
    request.set_asker(asker);
    request.set_attempt_token(tokens_[asker]);
    return request;
  }
  absl::StatusOr<v1::ReportTrialResponse> Report(ExperimentId experiment, uint64_t asker,
                                                 uint64_t step, double value) {
    auto request = Of<v1::ReportTrialRequest>(experiment, asker);
    request.set_step(step);
    v1::Metric& metric = *request.add_metrics();
    metric.set_name("val_loss");
    metric.set_value(value);
    return Call<v1::ReportTrialResponse>(request);
  }
  v1::TellTrialResponse Tell(ExperimentId experiment, uint64_t asker, v1::TellTrialRequest::End end,
                             double value = kNotANumber) {
    auto request = Of<v1::TellTrialRequest>(experiment, asker);
    request.set_end(end);
    if (!std::isnan(value)) {
      v1::Metric& metric = *request.add_metrics();
      metric.set_name("val_loss");
      metric.set_value(value);
    }
    const auto answer = Call<v1::TellTrialResponse>(request);
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.value_or(v1::TellTrialResponse());
  }
  absl::StatusOr<v1::Value> Suggest(ExperimentId experiment, uint64_t asker,
                                    const v1::Parameter& parameter) {
    auto request = Of<v1::SuggestValueRequest>(experiment, asker);
    *request.mutable_parameter() = parameter;
    const auto answer = Call<v1::SuggestValueResponse>(request);
    if (!answer.ok()) return answer.status();
    return answer->value();
  }
  static v1::Parameter Real(const std::string& path, double min, double max) {
    v1::Parameter parameter;
    parameter.set_path(path);
    parameter.mutable_range()->set_min(min);
    parameter.mutable_range()->set_max(max);
    return parameter;
  }
  static v1::Parameter Words(const std::string& path, const std::vector<std::string>& words) {
    v1::Parameter parameter;
    parameter.set_path(path);
    for (const std::string& word : words) parameter.add_values()->set_text(word);
    return parameter;
  }
  std::map<std::string, v1::Value> ValuesOf(TrialId id) {
    std::map<std::string, v1::Value> values;
    const Experiment& experiment = GetExperiment(state_.durable, id.experiment);
    const v1::ExpandedTrial expanded = ExpandedOf(experiment, TrialOf(id));
    for (const v1::Assignment& each : expanded.assignments()) {
      values[each.path()] = each.value();
    }
    return values;
  }

  // Removes what older journals do not have.
  void ForgetLeases() {
    for (std::string& bytes : journal_) {
      v1::Record record;
      ASSERT_TRUE(record.ParseFromString(bytes));
      if (!record.has_attempt_started()) continue;
      for (v1::Member& member : *record.mutable_attempt_started()->mutable_members()) {
        member.clear_lease_ms();
      }
      bytes = record.SerializeAsString();
    }
  }

  std::map<uint64_t, std::string> tokens_;  // by asker
};

TEST_F(ClientTrialsTest, AClientRunsEachTrialFromAskToTell) {
  const ExperimentId id = Submit(InClients(2));
  for (uint32_t number = 1; number <= 2; ++number) {
    const auto asked = Ask(id, number);
    ASSERT_TRUE(asked.ok()) << asked.status();
    EXPECT_EQ(asked->trial(), number);
    ASSERT_EQ(asked->values_size(), 1);
    EXPECT_EQ(asked->values(0).path(), "lr");
    EXPECT_EQ(StateOfTrial({id, number}), v1::TRIAL_RUNNING);
    EXPECT_FALSE(Report(id, number, 1, 3.0)->stop());
    const v1::TellTrialResponse told = Tell(id, number, v1::TellTrialRequest::FINISHED, 2.0);
    EXPECT_TRUE(told.counted());
    EXPECT_EQ(told.state(), v1::TRIAL_FINISHED);
    EXPECT_EQ(Summarize(state_, {id, number}, now_.steady).metric_value(), 2.0);
  }
  const auto none = Ask(id, 3);
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->trial(), 0u);
  EXPECT_TRUE(none->over());
  EXPECT_EQ(StateOf(GetExperiment(state_.durable, id)), v1::EXPERIMENT_FINISHED);
}

TEST_F(ClientTrialsTest, ARepeatedCallChangesNothingAndHasTheSameAnswer) {
  const ExperimentId id = Submit(InClients(2));
  const auto first = Ask(id, 7);
  const auto again = Ask(id, 7);
  ASSERT_TRUE(first.ok() && again.ok());
  EXPECT_EQ(first->SerializeAsString(), again->SerializeAsString());
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(Report(id, 7, 5, 3.0)->stop());
    EXPECT_EQ(TrialOf({id, 1}).evaluations.size(), 1u);
  }
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(Tell(id, 7, v1::TellTrialRequest::FINISHED, 2.0).counted());
  }
  EXPECT_EQ(TrialOf({id, 1}).attempts.size(), 1u);
  EXPECT_EQ(GetExperiment(state_.durable, id).trials.size(), 1u);
}

TEST_F(ClientTrialsTest, ARepeatedReportOfAnyValueChangesNothing) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const ExperimentId id = Submit(InClients(1));
  Ask(id, 1).value();
  size_t step = 0;
  for (const double value : {1.0, kNotANumber, kInfinity, -kInfinity}) {
    ++step;
    for (int i = 0; i < 2; ++i) {
      EXPECT_FALSE(Report(id, 1, step, value)->stop());
      EXPECT_EQ(TrialOf({id, 1}).evaluations.size(), step) << value;
    }
  }
}

TEST_F(ClientTrialsTest, AMetricThatIsNewAtAKnownStepCounts) {
  v1::ExperimentSpec spec = InClients(1);
  spec.mutable_search()->add_constraints("latency_ms <= 20");
  const ExperimentId id = Submit(std::move(spec));
  Ask(id, 1).value();
  EXPECT_FALSE(Report(id, 1, 1, 2.0)->stop());
  auto request = Of<v1::TellTrialRequest>(id, 1);
  request.set_end(v1::TellTrialRequest::FINISHED);
  const std::map<std::string, double> result = {{"val_loss", 2.0}, {"latency_ms", 19.0}};
  for (const auto& [name, value] : result) {
    v1::Metric& metric = *request.add_metrics();
    metric.set_name(name);
    metric.set_value(value);
  }
  const auto told = Call<v1::TellTrialResponse>(request);
  ASSERT_TRUE(told.ok()) << told.status();
  EXPECT_TRUE(told->counted());
  EXPECT_EQ(Summarize(state_, {id, 1}, now_.steady).infeasible(), "");
}

TEST_F(ClientTrialsTest, ClientsLeaveRoomForWorkers) {
  State state;
  Experiment experiment;
  experiment.id = 1;
  experiment.spec = InClients(1);
  Turn turn{.state = state, .now = now_, .entropy = {}, .effects = {}};
  const std::string host = "laptop";
  for (uint64_t asker = 1; asker <= limits::kClients; ++asker) {
    ASSERT_TRUE(AddClient(turn, experiment, {asker, host, limits::kClientLease}).ok()) << asker;
  }
  EXPECT_EQ(AddClient(turn, experiment, {limits::kClients + 1, host, limits::kClientLease})
                .status()
                .code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_NE(dt::AddWorker(state.live, "a"), nullptr);
}

TEST_F(ClientTrialsTest, ALateCallOnAnEarlierTrialLeavesTheNextOneAlone) {
  const ExperimentId id = Submit(InClients(2));
  Ask(id, 7).value();
  const std::string earlier = tokens_[7];
  Tell(id, 7, v1::TellTrialRequest::FINISHED, 2.0);
  ASSERT_EQ(Ask(id, 7)->trial(), 2u);
  const std::string later = std::exchange(tokens_[7], earlier);
  EXPECT_TRUE(Report(id, 7, 1, 1.0)->stop());
  EXPECT_TRUE(Tell(id, 7, v1::TellTrialRequest::FINISHED, 2.0).counted());
  EXPECT_EQ(StateOfTrial({id, 2}), v1::TRIAL_RUNNING);
  tokens_[7] = later;
  EXPECT_FALSE(Report(id, 7, 1, 1.0)->stop());
}

TEST_F(ClientTrialsTest, TheTrialOfASilentClientGoesToTheNextWithTheSameValues) {
  const ExperimentId id = Submit(InClients(1));
  const auto first = Ask(id, 1);
  Advance(limits::kClientLease - absl::Seconds(2));
  const auto none = Ask(id, 2);
  EXPECT_EQ(none->trial(), 0u);
  EXPECT_TRUE(none->none_left());
  EXPECT_FALSE(none->over());
  Advance(absl::Seconds(4));
  const auto second = Ask(id, 2);
  ASSERT_EQ(second->trial(), 1u);
  EXPECT_EQ(second->attempt(), 2u);
  EXPECT_EQ(state_.live.worker_names.size(), 1u) << "the silent client is forgotten";
  EXPECT_EQ(second->values(0).SerializeAsString(), first->values(0).SerializeAsString());
  EXPECT_TRUE(Report(id, 1, 1, 1.0)->stop()) << "it comes back too late";
  EXPECT_FALSE(Tell(id, 1, v1::TellTrialRequest::FINISHED, 1.0).counted());
  EXPECT_TRUE(Tell(id, 2, v1::TellTrialRequest::FINISHED, 2.0).counted());
  EXPECT_EQ(Summarize(state_, {id, 1}, now_.steady).metric_value(), 2.0);
}

TEST_F(ClientTrialsTest, AReportWithoutMetricsRenewsTheLease) {
  const ExperimentId id = Submit(InClients(1));
  Ask(id, 1).value();
  for (int i = 0; i < 10; ++i) {
    Advance(limits::kClientLease / 2);
    EXPECT_FALSE(Call<v1::ReportTrialResponse>(Of<v1::ReportTrialRequest>(id, 1))->stop());
  }
  EXPECT_EQ(TrialOf({id, 1}).attempts.size(), 1u);
}

TEST_F(ClientTrialsTest, ACoordinatorThatRestartsBetweenAskAndTellForgetsNothing) {
  const ExperimentId id = Submit(InClients(3));
  const auto asked = Ask(id, 1);
  Report(id, 1, 1, 3.0).value();
  RestartCoordinator();
  Advance(absl::Seconds(5));
  const auto again = Ask(id, 1);
  EXPECT_EQ(again->SerializeAsString(), asked->SerializeAsString());
  RestartCoordinator();
  EXPECT_FALSE(Report(id, 1, 2, 2.5)->stop());
  RestartCoordinator();
  EXPECT_TRUE(Tell(id, 1, v1::TellTrialRequest::FINISHED, 2.0).counted());
  RestartCoordinator();
  EXPECT_TRUE(Tell(id, 1, v1::TellTrialRequest::FINISHED, 2.0).counted()) << "the answer was lost";
  EXPECT_EQ(TrialOf({id, 1}).attempts.size(), 1u);
  EXPECT_EQ(Ask(id, 2)->trial(), 2u);
  // A client that does not come back loses its trial, as without a restart.
  RestartCoordinator();
  Advance(2 * limits::kClientLease);
  EXPECT_EQ(Ask(id, 3)->trial(), 2u);
}

TEST_F(ClientTrialsTest, AClientKeepsTheLeaseThatItAskedForWhenTheCoordinatorRestarts) {
  for (const absl::Duration lease : {absl::Seconds(20), absl::Seconds(60), absl::Seconds(300)}) {
    const ExperimentId id = Submit(InClients(1));
    Ask(id, 1, lease).value();
    RestartCoordinator();
    Advance(lease - absl::Seconds(2));
    EXPECT_EQ(Ask(id, 2)->trial(), 0u) << lease;
    EXPECT_FALSE(Call<v1::ReportTrialResponse>(Of<v1::ReportTrialRequest>(id, 1))->stop()) << lease;
    RestartCoordinator();
    Advance(lease + absl::Seconds(2));
    EXPECT_EQ(Ask(id, 2)->trial(), 1u) << lease;
    EXPECT_TRUE(Call<v1::ReportTrialResponse>(Of<v1::ReportTrialRequest>(id, 1))->stop()) << lease;
  }
}

TEST_F(ClientTrialsTest, AJournalWithoutLeasesGivesTheUsualOne) {
  const ExperimentId id = Submit(InClients(1));
  Ask(id, 1, absl::Seconds(300)).value();
  ForgetLeases();
  RestartCoordinator();
  Advance(limits::kClientLease - absl::Seconds(2));
  EXPECT_EQ(Ask(id, 2)->trial(), 0u);
  Advance(absl::Seconds(4));
  EXPECT_EQ(Ask(id, 2)->trial(), 1u);
}

TEST_F(ClientTrialsTest, ARepeatedAskDoesNotChangeTheLease) {
  const ExperimentId id = Submit(InClients(1));
  Ask(id, 1, absl::Seconds(300)).value();
  EXPECT_EQ(Ask(id, 1, absl::Seconds(5))->attempt(), 1u);
  Advance(absl::Seconds(200));
  EXPECT_EQ(Ask(id, 1, absl::Seconds(5))->attempt(), 1u);
}

TEST_F(ClientTrialsTest, WorkersGetNoTrialOfClientsAndClientsNoneOfWorkers) {
  AddWorker("a");
  const ExperimentId id = Submit(InClients(1));
  ExpectIdle("a");
  const ExperimentId other = Submit(OnSlots(2));  // waits for slots
  EXPECT_EQ(Ask(id, 1)->trial(), 1u);
  EXPECT_EQ(StateOfTrial({other, 1}), v1::TRIAL_PENDING);
  EXPECT_EQ(Ask(other, 2).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Call<v1::ListWorkersResponse>(v1::ListWorkersRequest())->workers_size(), 1);
  Tell(id, 1, v1::TellTrialRequest::FINISHED, 2.0);
  EXPECT_EQ(state_.live.worker_names.size(), 1u);
}

TEST_F(ClientTrialsTest, AFailedTrialIsNotTriedAgainAndAGivenBackOneIs) {
  const ExperimentId id = Submit(InClients(2));
  Ask(id, 1).value();
  const v1::TellTrialResponse told = Tell(id, 1, v1::TellTrialRequest::FAILED);
  EXPECT_EQ(told.state(), v1::TRIAL_FAILED);
  EXPECT_EQ(TrialOf({id, 1}).message, "its client says that it failed");
  Ask(id, 2).value();
  EXPECT_EQ(Tell(id, 2, v1::TellTrialRequest::GIVEN_BACK).state(), v1::TRIAL_PENDING);
  Advance(absl::Seconds(2));  // retries.backoff
  EXPECT_EQ(Ask(id, 3)->trial(), 2u);
  EXPECT_EQ(Tell(id, 3, v1::TellTrialRequest::PRUNED).state(), v1::TRIAL_FINISHED);
  EXPECT_EQ(TrialOf({id, 2}).cause, v1::CAUSE_STOPPED_EARLY);
}

TEST_F(ClientTrialsTest, ARuleOfTheSearchEndsATrialAndItsClientIsTold) {
  v1::ExperimentSpec spec = InClients(8);
  spec.mutable_base()->mutable_stop()->mutable_median()->set_after(1);
  const ExperimentId id = Submit(std::move(spec));
  for (uint64_t asker = 1; asker <= 4; ++asker) {
    Ask(id, asker).value();
    EXPECT_FALSE(Report(id, asker, 1, 1.0)->stop());
    Tell(id, asker, v1::TellTrialRequest::FINISHED, 1.0);
  }
  Ask(id, 5).value();
  const auto worse = Report(id, 5, 1, 9.0);
  ASSERT_TRUE(worse.ok());
  EXPECT_TRUE(worse->stop());
  EXPECT_NE(worse->reason().find("median"), std::string::npos) << worse->reason();
  EXPECT_EQ(TrialOf({id, 5}).cause, v1::CAUSE_STOPPED_EARLY);
  EXPECT_TRUE(Tell(id, 5, v1::TellTrialRequest::PRUNED).counted());
  EXPECT_EQ(Ask(id, 5)->trial(), 6u);
}

TEST_F(ClientTrialsTest, NoRuleEndsATrialAtTheResultWithWhichItsClientEndsIt) {
  v1::ExperimentSpec spec = InClients(8);
  spec.mutable_base()->mutable_stop()->mutable_median()->set_after(1);
  const ExperimentId id = Submit(std::move(spec));
  for (uint32_t trial = 1; trial <= 5; ++trial) {
    Ask(id, 1).value();
    EXPECT_TRUE(Tell(id, 1, v1::TellTrialRequest::FINISHED, trial < 5 ? 1.0 : 9.0).counted());
    EXPECT_EQ(TrialOf({id, trial}).cause, v1::CAUSE_FINISHED);
  }
}

TEST_F(ClientTrialsTest, ACancelledTrialStopsAtTheNextReportAndAPausedOneIsGivenBack) {
  const ExperimentId id = Submit(InClients(4));
  Ask(id, 1).value();
  Ask(id, 2).value();
  EXPECT_EQ(Cancel(id, 1), 1u);
  EXPECT_TRUE(Report(id, 1, 1, 1.0)->stop());
  EXPECT_EQ(StateOfTrial({id, 1}), v1::TRIAL_CANCELLED);
  v1::ChangeRequest pause;
  pause.set_experiment(id);
  pause.mutable_pause();
  ASSERT_TRUE(Call<v1::ChangeResponse>(pause).ok());
  EXPECT_TRUE(Report(id, 2, 1, 1.0)->stop());
  EXPECT_EQ(StateOfTrial({id, 2}), v1::TRIAL_PENDING);
  EXPECT_NE(Ask(id, 3)->reason().find("paused"), std::string::npos);
}

TEST_F(ClientTrialsTest, AnExperimentGainsTheParametersThatItsTrialsAskFor) {
  const ExperimentId id = Submit(DefineByRun(3));
  const auto asked = Ask(id, 1);
  ASSERT_TRUE(asked.ok()) << asked.status();
  EXPECT_EQ(asked->values_size(), 0);
  const auto model = Suggest(id, 1, Words("model", {"deep", "wide"}));
  ASSERT_TRUE(model.ok()) << model.status();
  const auto rate = Suggest(id, 1, Real("lr", 0.0, 1.0));
  ASSERT_TRUE(rate.ok()) << rate.status();
  EXPECT_EQ(Suggest(id, 1, Real("lr", 0.0, 1.0))->SerializeAsString(), rate->SerializeAsString());
  EXPECT_EQ(GetExperiment(state_.durable, id).spec.parameters_size(), 2);
  Tell(id, 1, v1::TellTrialRequest::FINISHED, 1.0);
  // A parameter that a trial does not ask for is absent from it.
  Ask(id, 2).value();
  ASSERT_TRUE(Suggest(id, 2, Real("width", 1.0, 8.0)).ok());
  EXPECT_EQ(ValuesOf({id, 2}).size(), 1u);
  EXPECT_EQ(ValuesOf({id, 1}).size(), 2u);
  // After a loss the next client gets the same values.
  const auto before = ValuesOf({id, 2}).at("width").SerializeAsString();
  Advance(2 * limits::kClientLease);
  const auto second = Ask(id, 3);
  ASSERT_EQ(second->trial(), 2u);
  ASSERT_EQ(second->values_size(), 1);
  EXPECT_EQ(Suggest(id, 3, Real("width", 1.0, 8.0))->SerializeAsString(), before);
}

TEST_F(ClientTrialsTest, SuggestionsLearnFromResultsAndAreTheSameAfterRestarts) {
  std::vector<double> suggested;
  for (const bool restarts : {false, true}) {
    BeginAnew();
    const ExperimentId id = Submit(DefineByRun(40));
    for (uint32_t number = 1; number <= 40; ++number) {
      if (restarts) RestartCoordinator();
      ASSERT_EQ(Ask(id, number)->trial(), number);
      const auto x = Suggest(id, number, Real("x", -10.0, 10.0));
      ASSERT_TRUE(x.ok()) << x.status();
      if (number % 2 == 0) {
        ASSERT_TRUE(Suggest(id, number, Real("y", 0.0, 1.0)).ok());
      }
      if (restarts) {
        EXPECT_EQ(x->number(), suggested[number - 1]) << number;
      } else {
        suggested.push_back(x->number());
      }
      Tell(id, number, v1::TellTrialRequest::FINISHED, std::pow(x->number() - 2, 2));
    }
  }
  double late = 0;
  for (size_t i = 30; i < 40; ++i) late += std::abs(suggested[i] - 2) / 10;
  EXPECT_LT(late, 3.0) << "uniform draws would be 5 away on average";
}

TEST_F(ClientTrialsTest, CallsThatCannotBeAreRefusedWithAReason) {
  const ExperimentId id = Submit(DefineByRun(3));
  EXPECT_EQ(Ask(id, 0).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Ask(id + 1, 1).status().code(), absl::StatusCode::kNotFound);
  Ask(id, 1).value();
  tokens_[2] = tokens_[1];
  EXPECT_EQ(Report(id, 2, 1, 1.0).status().code(), absl::StatusCode::kNotFound) << "another's";
  const ExperimentId other = Submit(DefineByRun(3));
  EXPECT_EQ(Report(other, 1, 1, 1.0).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Ask(other, 1)->trial(), 1u) << "the same number of another search is another asker";
  tokens_[1] = tokens_[2];
  Report(id, 1, 5, 1.0).value();
  EXPECT_EQ(Report(id, 1, 4, 1.0).status().code(), absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(Suggest(id, 1, Real("x", 0.0, 1.0)).ok());
  EXPECT_EQ(Suggest(id, 1, Real("x", 0.0, 2.0)).status().code(),
            absl::StatusCode::kFailedPrecondition);
  for (const v1::Parameter& wrong : {Real("resources.gpus", 1.0, 2.0), Real("a b", 0.0, 1.0),
                                     Real("z", 1.0, 0.0), Words("w", {}), Words("w", {"a", "a"})}) {
    EXPECT_EQ(Suggest(id, 1, wrong).status().code(), absl::StatusCode::kInvalidArgument)
        << wrong.ShortDebugString();
  }
  const ExperimentId fixed = Submit(InClients(3));
  Ask(fixed, 9).value();
  EXPECT_EQ(Suggest(fixed, 9, Real("x", 0.0, 1.0)).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(ClientTrialsTest, AFileSaysNothingAboutWorkersThatDoNotRunItsTrials) {
  const auto refused = [this](v1::ExperimentSpec spec) {
    return TrySubmit(std::move(spec)).status().code() == absl::StatusCode::kInvalidArgument;
  };
  v1::ExperimentSpec gang = InClients(3);
  gang.mutable_base()->mutable_resources()->set_gpus(2);
  EXPECT_TRUE(refused(gang));
  v1::ExperimentSpec words = InClients(3);
  words.mutable_base()->add_command("train.py");
  EXPECT_TRUE(refused(words));
  v1::ExperimentSpec drawn = DefineByRun(3);
  drawn.mutable_search()->set_method("random");
  EXPECT_TRUE(refused(drawn));
  v1::ExperimentSpec fixed = DefineByRun(3);
  *fixed.add_parameters() = Real("x", 0.0, 1.0);
  EXPECT_TRUE(refused(fixed));
}

}  // namespace
}  // namespace dt
