// queries_test.cc: lists, pages, summaries and explanations.
#include "coordinator/core/answer/queries.h"

#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/substitute.h"
#include "tests/testing/core_fixture.h"

namespace dt {
namespace {

class QueryTest : public CoreTest {
 protected:
  v1::TrialSummary SummaryOf(TrialId id) { return Summarize(state_, id, now_.steady); }
  v1::ExperimentSummary SummaryOf(ExperimentId id) {
    return Summarize(state_, GetExperiment(state_.durable, id));
  }
  void ExpectExplained(TrialId id, const std::string& part) {
    EXPECT_NE(Explain(id).find(part), std::string::npos) << Explain(id);
  }
};

TEST_F(QueryTest, AWorkersSecretsAreInNoAnswer) {
  AddWorker("a");
  const ExperimentId id = Submit(OneTrial());
  v1::ExplainTrialRequest request;
  request.set_experiment(id);
  request.set_trial(1);
  const auto response = Call<v1::ExplainTrialResponse>(request);
  ASSERT_TRUE(response.ok());
  ASSERT_EQ(response->attempts(0).members_size(), 1);
  const v1::AttemptMember& member = response->attempts(0).members(0);
  EXPECT_EQ(member.worker(), "a");
  for (int i = 0; i < member.GetDescriptor()->field_count(); ++i) {
    EXPECT_NE(member.GetDescriptor()->field(i)->name(), "instance");
  }
  v1::Hello wire;  // its bytes must not be in the answer
  wire.set_instance(workers_.at("a").hello.instance());
  EXPECT_EQ(response->SerializeAsString().find(wire.SerializeAsString().substr(1)),
            std::string::npos);
}

TEST_F(QueryTest, ListsArePagedToTheirEnd) {
  for (int i = 0; i < 5; ++i) Submit(OneTrial());
  v1::ListExperimentsRequest request;
  request.set_page_size(2);
  std::vector<uint64_t> seen;
  for (int page = 0; page < 3; ++page) {
    const auto response = Call<v1::ListExperimentsResponse>(request);
    ASSERT_TRUE(response.ok());
    for (const auto& experiment : response->experiments()) seen.push_back(experiment.experiment());
    EXPECT_EQ(response->next_page_token().empty(), page == 2);
    request.set_page_token(response->next_page_token());
  }
  EXPECT_EQ(seen, (std::vector<uint64_t>{1, 2, 3, 4, 5}));
  request.set_page_token("nonsense");
  EXPECT_EQ(Call<v1::ListExperimentsResponse>(request).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(QueryTest, ATokenBeyondTheEndOfAListIsRefused) {
  AddWorker("a");
  const ExperimentId id = Submit(Trials(3));
  const auto code_of = [this](auto response, auto request, const std::string& token) {
    request.set_page_token(token);
    return Call<decltype(response)>(request).status().code();
  };
  v1::ListTrialsRequest trials;
  trials.set_experiment(id);
  v1::ListCheckpointsRequest checkpoints;
  const auto refused = absl::StatusCode::kInvalidArgument;
  for (const std::string max : {"18446744073709551615", "18446744073709551614", "4294967296"}) {
    EXPECT_EQ(code_of(v1::ListExperimentsResponse(), v1::ListExperimentsRequest(), max), refused);
    EXPECT_EQ(code_of(v1::ListTrialsResponse(), trials, max), refused);
    for (const char* token : {"$0/1/0", "1/$0/0", "1/1/$0", "$0", "$0/$0"}) {
      EXPECT_EQ(code_of(v1::ListCheckpointsResponse(), checkpoints, absl::Substitute(token, max)),
                refused);
    }
    EXPECT_TRUE(Call<v1::ListWorkersResponse>(v1::ListWorkersRequest()).ok());
  }
  EXPECT_EQ(code_of(v1::ListWorkersResponse(), v1::ListWorkersRequest(), std::string(257, 'x')),
            refused);
  // At the beginning, and at the end.
  for (const char* token : {"0", "3"}) {
    EXPECT_EQ(code_of(v1::ListTrialsResponse(), trials, token), absl::StatusCode::kOk);
  }
  for (const char* token : {"0", "1"}) {
    EXPECT_EQ(code_of(v1::ListExperimentsResponse(), v1::ListExperimentsRequest(), token),
              absl::StatusCode::kOk);
  }
  EXPECT_EQ(code_of(v1::ListTrialsResponse(), trials, "4"), refused);
  EXPECT_EQ(code_of(v1::ListCheckpointsResponse(), checkpoints, "0/0/0"), absl::StatusCode::kOk);
  EXPECT_EQ(code_of(v1::ListWorkersResponse(), v1::ListWorkersRequest(), "\x7f"),
            absl::StatusCode::kOk);
}

TEST_F(QueryTest, APageEndsBeforeItGetsTooLargeForAMessage) {
  v1::ExperimentSpec spec = OneTrial();
  for (int i = 0; i < 64; ++i) {
    v1::Label& label = *spec.add_labels();
    label.set_key(absl::StrCat("label-", i));
    label.set_value(std::string(limits::kTextBytes, 'x'));
  }
  constexpr int kExperiments = 40;
  for (int i = 0; i < kExperiments; ++i) Submit(spec);
  v1::ListExperimentsRequest request;
  request.set_page_size(limits::kPageMax);
  int seen = 0;
  int pages = 0;
  do {
    const auto response = Call<v1::ListExperimentsResponse>(request);
    ASSERT_TRUE(response.ok()) << response.status();
    EXPECT_LE(response->ByteSizeLong(), limits::kPageBytes + 64);
    for (const auto& experiment : response->experiments()) {
      EXPECT_EQ(experiment.experiment(), static_cast<uint64_t>(++seen));
    }
    request.set_page_token(response->next_page_token());
    ++pages;
  } while (!request.page_token().empty() && pages < kExperiments);
  EXPECT_EQ(seen, kExperiments);
  EXPECT_EQ(pages, 3);
}

TEST_F(QueryTest, ExperimentsAreFoundByLabelAndByBeingLast) {
  v1::ExperimentSpec spec = OneTrial();
  v1::Label& label = *spec.add_labels();
  label.set_key("team");
  label.set_value("vision");
  Submit(spec);
  Submit(OneTrial());
  v1::ListExperimentsRequest request;
  *request.add_labels() = label;
  EXPECT_EQ(Call<v1::ListExperimentsResponse>(request)->experiments_size(), 1);
  v1::ListExperimentsRequest last;
  last.set_last(true);
  EXPECT_EQ(Call<v1::ListExperimentsResponse>(last)->experiments(0).experiment(), 2u);
}

TEST_F(QueryTest, TrialsAreListedByStateAndPage) {
  AddWorker("a");
  const ExperimentId id = Submit(Trials(4));
  v1::ListTrialsRequest request;
  request.set_experiment(id);
  request.add_states(v1::TRIAL_PENDING);
  request.set_page_size(2);
  auto response = Call<v1::ListTrialsResponse>(request);
  ASSERT_EQ(response->trials_size(), 2);
  EXPECT_EQ(response->trials(0).trial(), 2u);
  request.set_page_token(response->next_page_token());
  response = Call<v1::ListTrialsResponse>(request);
  ASSERT_EQ(response->trials_size(), 1);
  EXPECT_EQ(response->trials(0).trial(), 4u);
  EXPECT_EQ(response->next_page_token(), "");
}

TEST_F(QueryTest, ATrialsSummaryShowsHowFarItIs) {
  AddWorker("a");
  const TrialId id{Submit(Trials(1)), 1};
  Train({"a"});
  v1::AttemptStatus& status = workers_.at("a").holding.begin()->second;
  status.set_step(40);
  v1::StepRow& row = *status.mutable_latest();
  row.set_step(40);
  row.set_loss(2.5);
  row.set_tokens(1000);
  row.set_seconds(2);
  row.set_steps(10);
  SendItems("a", {Evaluation("a", 20, 3.0), Evaluation("a", 40, 3.2), Checkpoint("a", 40)});
  const v1::TrialSummary summary = SummaryOf(id);
  EXPECT_EQ(summary.state(), v1::TRIAL_RUNNING);
  EXPECT_EQ(summary.step(), 40u);
  EXPECT_EQ(summary.target_steps(), 100u);
  EXPECT_EQ(summary.latest().loss(), 2.5);
  EXPECT_EQ(summary.tokens_per_second(), 500);
  EXPECT_EQ(summary.train_tokens(), 5000u);
  EXPECT_EQ(summary.tokens_per_step(), 500u);
  EXPECT_NEAR(summary.eta_seconds(), 60 * 0.2, 1e-9);
  EXPECT_EQ(summary.val_loss(), 3.2);
  EXPECT_EQ(summary.best_val_loss(), 3.0);
  EXPECT_EQ(summary.best_val_step(), 20u);
  EXPECT_EQ(summary.metric_value(), 3.0);
  EXPECT_EQ(summary.metric_step(), 20u);
  EXPECT_EQ(summary.metric_newest(), 3.2);
  EXPECT_EQ(summary.last_checkpoint().step(), 40u);
  EXPECT_EQ(summary.workers(0), "a");
  EXPECT_EQ(summary.data_fingerprint(), "data-1");
  EXPECT_EQ(summary.seed(), 7);
  ASSERT_EQ(summary.assignments_size(), 1);
  EXPECT_EQ(summary.assignments(0).path(), "optimizer.lr");
  EXPECT_NEAR(SummaryOf(id.experiment).progress_ratio(), 0.4, 1e-9);
}

v1::StepRow RowOf(uint64_t step, double tokens, double seconds) {
  v1::StepRow row;
  row.set_step(step);
  row.set_steps(1);
  row.set_tokens(tokens);
  row.set_seconds(seconds);
  row.set_forward_seconds(seconds - 1);
  row.set_comm_exposed_seconds(1);
  row.set_allreduce_seconds(seconds / 2);
  return row;
}

TEST_F(QueryTest, TokensPerSecondIsTheMeanOverTheTrialAndSurvivesARestart) {
  AddWorker("a");
  const TrialId id{Submit(OneTrial()), 1};
  Train({"a"});
  v1::StepRow usual = RowOf(10, 1000, 2);
  usual.set_seconds(5);
  usual.set_eval_seconds(3);
  SendRows("a", usual);
  EXPECT_EQ(SummaryOf(id).tokens_per_second(), 500) << "evaluations are not training";
  SendRows("a", RowOf(20, 1000, 6));  // one slow step
  v1::TrialSummary summary = SummaryOf(id);
  EXPECT_EQ(summary.latest().step(), 20u);
  EXPECT_EQ(summary.tokens_per_second(), 2000.0 / 8);
  EXPECT_EQ(summary.comm_ratio(), 4.0 / 8);
  EXPECT_EQ(summary.comm_exposed_ratio(), 2.0 / 8);
  // A second attempt adds to the first.
  SendItems("a", {Checkpoint("a", 20), Ended("a", v1::CAUSE_TRAINER_CRASH, 20)});
  Leave("a");
  EXPECT_EQ(SummaryOf(id).tokens_per_second(), 2000.0 / 8);
  Advance(absl::Seconds(2));
  Train({"a"}, 20);
  SendRows("a", RowOf(30, 2000, 2));
  EXPECT_EQ(SummaryOf(id).tokens_per_second(), 4000.0 / 10);
  Finish({"a"}, 100);
  EXPECT_EQ(SummaryOf(id).tokens_per_second(), 4000.0 / 10);
  RestartCoordinator();
  summary = SummaryOf(id);
  EXPECT_EQ(summary.tokens_per_second(), 4000.0 / 10);
  EXPECT_EQ(summary.comm_ratio(), 5.0 / 10);
}

TEST_F(QueryTest, ATrialThatNeverTrainedHasNoRate) {
  const TrialId id{Submit(OneTrial()), 1};
  EXPECT_EQ(SummaryOf(id).tokens_per_second(), 0);
  EXPECT_TRUE(std::isnan(SummaryOf(id).comm_ratio()));
}

TEST_F(QueryTest, ProgressCountsTheStepsThatTrialsMadeHoweverTheyEnded) {
  AddWorker("a");
  const ExperimentId id = Submit(Trials(2));
  Train({"a"});
  workers_.at("a").holding.begin()->second.set_step(40);
  Heartbeat("a");
  Cancel(id);
  Leave("a");
  EXPECT_EQ(SummaryOf(id).state(), v1::EXPERIMENT_CANCELLED);
  EXPECT_NEAR(SummaryOf(id).progress_ratio(), 0.2, 1e-9) << "40 of 100 steps, and none";
}

TEST_F(QueryTest, TheLastRowSurvivesTheEndAndARestart) {
  AddWorker("a");
  v1::ExperimentSpec spec = OneTrial();
  spec.mutable_search()->set_metric("loss");
  const TrialId id{Submit(spec), 1};
  Train({"a"});
  v1::StepRow& row = *workers_.at("a").holding.begin()->second.mutable_latest();
  row.set_step(100);
  row.set_loss(1.25);
  Heartbeat("a");
  Finish({"a"}, 100);
  RestartCoordinator();
  EXPECT_EQ(SummaryOf(id).latest().loss(), 1.25);
  EXPECT_EQ(SummaryOf(id).step(), 100u);
  EXPECT_EQ(SummaryOf(id.experiment).best_trial(), 1u);
  EXPECT_EQ(SummaryOf(id.experiment).best_value(), 1.25);
}

TEST_F(QueryTest, TheBestTrialFollowsMetricAndGoal) {
  for (const char* goal : {"minimize", "maximize"}) {
    v1::ExperimentSpec spec = Trials(3);
    spec.mutable_search()->set_goal(goal);
    const ExperimentId id = Submit(spec);
    EXPECT_EQ(SummaryOf(id).best_trial(), 0u);
    EXPECT_TRUE(std::isnan(SummaryOf(id).best_value()));
    const std::string name = absl::StrCat("worker-", goal);
    AddWorker(name);
    for (const double loss : {2.0, 1.0, 3.0}) {
      Train({name});
      SendItems(name, {Evaluation(name, 1, loss)});
      Finish({name});
    }
    EXPECT_EQ(SummaryOf(id).best_trial(), goal[1] == 'i' ? 2u : 3u);
    Disconnect(name);
  }
}

TEST_F(QueryTest, AnExperimentWithoutRunningTrialsHasNoEta) {
  const ExperimentId id = Submit(OneTrial());
  EXPECT_LT(SummaryOf(id).eta_seconds(), 0);
  Cancel(id);
  EXPECT_EQ(SummaryOf(id).eta_seconds(), 0);
}

TEST_F(QueryTest, WorkersAreListedWithTheirTrials) {
  AddWorker("a");
  AddWorker("b").draining = true;
  Heartbeat("b");
  const ExperimentId id = Submit(OneTrial());
  auto response = Call<v1::ListWorkersResponse>(v1::ListWorkersRequest());
  ASSERT_EQ(response->workers_size(), 2);
  EXPECT_EQ(response->workers(0).state(), "busy");
  EXPECT_EQ(response->workers(0).doing(), absl::StrCat(id, "/1#1 rank 0"));
  EXPECT_EQ(response->workers(1).state(), "draining");
  EXPECT_EQ(response->workers(0).gpu_uuid(), workers_.at("a").hello.gpu_uuid());
  EXPECT_NE(response->workers(0).gpu_uuid(), response->workers(1).gpu_uuid());
  Disconnect("a");
  Advance(absl::Seconds(30));
  response = Call<v1::ListWorkersResponse>(v1::ListWorkersRequest());
  EXPECT_EQ(response->workers(0).state(), "lost");
  EXPECT_GT(response->workers(0).silence_seconds(), 25);
}

TEST_F(QueryTest, CheckpointsOfATrialThatDoesNotExistAreNotFound) {
  v1::ListCheckpointsRequest request;
  request.set_experiment(Submit(OneTrial()));
  request.set_trial(1);
  EXPECT_TRUE(Call<v1::ListCheckpointsResponse>(request).ok());
  request.set_trial(2);
  EXPECT_EQ(Call<v1::ListCheckpointsResponse>(request).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(QueryTest, CheckpointsAreListedPageByPageWithWorkersThatSeeThem) {
  AddWorker("a");
  const ExperimentId id = Submit(OneTrial());
  Train({"a"});
  SendItems("a", {Checkpoint("a", 1), Checkpoint("a", 2), Checkpoint("a", 3)});
  v1::ListCheckpointsRequest request;
  request.set_page_size(2);
  auto response = Call<v1::ListCheckpointsResponse>(request);
  ASSERT_EQ(response->checkpoints_size(), 2);
  EXPECT_EQ(response->checkpoints(0).seen_by(0), "a");
  request.set_page_token(response->next_page_token());
  request.set_experiment(id);
  response = Call<v1::ListCheckpointsResponse>(request);
  ASSERT_EQ(response->checkpoints_size(), 1);
  EXPECT_EQ(response->checkpoints(0).checkpoint().step(), 3u);
  EXPECT_EQ(response->next_page_token(), "");
  for (const char* token : {"x", "1/2", "1/2/x"}) {
    request.set_page_token(token);
    EXPECT_EQ(Call<v1::ListCheckpointsResponse>(request).status().code(),
              absl::StatusCode::kInvalidArgument)
        << token;
  }
}

TEST_F(QueryTest, ExplainsWhyATrialWaits) {
  const ExperimentId large = Submit(OnSlots(4));
  ExpectExplained({large, 1}, "needs 4 cpu slots; 0 cpu workers connected, 0 free");
  AddWorker("a");
  AddWorker("b");
  ExpectExplained({large, 1}, "2 cpu workers connected, 2 free");
  const ExperimentId bounded = Submit(AtMost(1, Trials(2)));
  ExpectExplained({bounded, 2}, "experiment runs 1 of at most 1 trials at once");
  TrainToTheLastStep({"a"});
  const ExperimentId pair = Submit(OnSlots(2));
  ExpectExplained({pair, 1}, "needs 2 cpu slots; has reserved 1; it is next");
  const ExperimentId behind = Submit(OneTrial());
  ExpectExplained({behind, 1}, absl::StrCat("its place in the queue is behind trial ", pair, "/1"));
}

TEST_F(QueryTest, ExplainsForHowLongARunningTrialIsLeftInPeaceBeforeALargerPriority) {
  AddWorker("a");
  const ExperimentId usual = Submit(OneTrial());
  Train({"a"});
  EXPECT_EQ(Explain({usual, 1}).find("may not ask"), std::string::npos) << "no trial waits";
  Submit(OneTrial());
  EXPECT_EQ(Explain({usual, 1}).find("may not ask"), std::string::npos) << "nor of its own";
  const ExperimentId urgent = Submit(Prior(10, OneTrial()));
  Advance(absl::Seconds(20));
  ExpectExplained({usual, 1}, absl::StrCat("; trial ", urgent,
                                           "/1, of priority 10, waits for slots, and may not ask "
                                           "it to make room before 40 s have passed"));
  Advance(absl::Seconds(41));
  EXPECT_EQ(Explain({usual, 1}).find("may not ask"), std::string::npos);
  ExpectExplained({usual, 1}, "saving: makes room for trial");
}

TEST_F(QueryTest, ExplainsThatNoHostBesideACheckpointIsLargeEnoughForAGangOfOneHost) {
  for (const char* name : {"b/0", "b/1"}) AddWorker(name, {.host = "b", .storage = "storage-b"});
  v1::ExperimentSpec spec = OnSlots(2);
  spec.mutable_base()->mutable_resources()->set_single_node(true);
  const ExperimentId id = Submit(spec);
  Train({"b/0", "b/1"});
  SendItems("b/0", {Checkpoint("b/0", 20)});
  for (const char* name : {"c/0", "c/1"}) AddWorker(name, {.host = "c", .storage = "storage-c"});
  Disconnect("b/1");
  Advance(limits::kLease + absl::Seconds(1));
  Leave("b/0");
  Advance(absl::Seconds(30));
  ASSERT_EQ(StateOfTrial({id, 1}), v1::TRIAL_PENDING);
  ExpectExplained({id, 1},
                  "on storage storage-b, and no host that sees it has 2 slots: the largest has 1");
}

TEST_F(QueryTest, ExplainsABackoff) {
  AddWorker("a");
  const ExperimentId id = Submit(OneTrial());
  Train({"a"});
  SendItems("a", {Ended("a", v1::CAUSE_TRAINER_CRASH)});
  ExpectExplained({id, 1}, "backs off 1 s before attempt 2");
}

TEST_F(QueryTest, ExplainsPresentAndPastAttempts) {
  AddWorker("a");
  const ExperimentId id = Submit(OneTrial());
  ExpectExplained({id, 1}, "preparing data and model: 0 of 1 ranks are ready");
  Train({"a"});
  ExpectExplained({id, 1}, "training, at step 0 of 100");
  workers_.at("a").holding.begin()->second.set_evaluated_parts(3);
  workers_.at("a").holding.begin()->second.set_evaluation_parts(12);
  Heartbeat("a");
  ExpectExplained({id, 1}, "evaluating, at step 0 of 100, 3 of 12 parts");
  SendItems("a", {Ended("a", v1::CAUSE_TRAINER_CRASH)});
  Leave("a");
  Advance(absl::Seconds(2));
  Train({"a"});
  Cancel(id);
  ExpectExplained({id, 1}, "being cancelled; 1 worker has not left it yet");
  Leave("a");
  ExpectExplained({id, 1}, "cancelled after 2 attempts");
  v1::ExplainTrialRequest request;
  request.set_experiment(id);
  request.set_trial(1);
  const auto response = Call<v1::ExplainTrialResponse>(request);
  ASSERT_EQ(response->attempts_size(), 2);
  EXPECT_EQ(response->attempts(0).cause(), v1::CAUSE_TRAINER_CRASH);
  EXPECT_EQ(response->attempts(0).members(0).worker(), "a");
  EXPECT_EQ(response->attempts(0).reason(), "1 cpu slot on 1 host");
  EXPECT_EQ(response->attempts(1).cause(), v1::CAUSE_CANCELLED);
}

TEST_F(QueryTest, StatusCountsConnectedWorkers) {
  AddWorker("a");
  Submit(OneTrial());
  const auto response = Call<v1::GetStatusResponse>(v1::GetStatusRequest());
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response->journal_id(), kTestJournal);
  EXPECT_EQ(response->experiments(), 1u);
  EXPECT_EQ(response->workers(), 1u);
}

TEST_F(QueryTest, AnExperimentComesBackAsItWasSubmitted) {
  v1::SubmitRequest submit;
  *submit.mutable_spec() = OneTrial();
  submit.set_file_name("grid.yaml");
  submit.set_file_text("version: 1\n");
  ASSERT_TRUE(Call<v1::SubmitResponse>(submit).ok());
  v1::GetExperimentRequest request;
  request.set_last(true);
  const auto response = Call<v1::GetExperimentResponse>(request);
  EXPECT_EQ(response->file_name(), "grid.yaml");
  EXPECT_EQ(response->file_text(), "version: 1\n");
  EXPECT_EQ(response->spec().name(), "test");
}

}  // namespace
}  // namespace dt
