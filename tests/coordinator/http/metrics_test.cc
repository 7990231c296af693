// metrics_test.cc: the counts of the model, their text, and that Prometheus' own tool accepts it.
#include "coordinator/http/metrics.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/strings/match.h"
#include "common/text.h"
#include "coordinator/core/keep/progress.h"
#include "tests/testing/exposition.h"
#include "tests/testing/loop_fixture.h"
#include "tests/testing/temp_folder.h"

namespace dt {
namespace {

class MetricsTest : public testing::LoopFixture {
 protected:
  void Show() {
    clock_.Advance(absl::Seconds(1));
    Report();  // a heartbeat
    TurnOk();
    ASSERT_NE(scrape_, nullptr);
    metrics_.SetScrape(scrape_);
  }
  // Trains one trial on the fixture's worker up to its newest row, without an end.
  void Train() {
    Connect();
    Call(1, Grid("a", 2));
    TurnOk();
    clock_.Advance(absl::Seconds(2));
    token_ = Token();
    Run(token_);
    AddRows(token_, 1, 3.5);
    AddRows(token_, 2, 3.25);
    AddItem(token_).mutable_evaluation()->set_split("val");
    v1::Evaluation& evaluation = *report_.mutable_items()->rbegin()->mutable_evaluation();
    evaluation.set_loss(3.125);
    evaluation.set_hellaswag_acc(0.25);
    evaluation.set_hellaswag_acc_norm(0.5);
    v1::CheckpointRef& checkpoint = *AddItem(token_).mutable_checkpoint();
    checkpoint.set_step(2);
    checkpoint.set_storage_id("disk");
    checkpoint.set_path("1/1/a1/step-2");
    checkpoint.set_bytes(4096);
    checkpoint.set_seconds(0.5);
    Hold(token_, v1::AttemptStatus::TRAINING);
    Report();
    TurnOk();
    Hold(token_, v1::AttemptStatus::TRAINING);
    Show();
  }
  void ExpectLine(const std::string& line) {
    const std::string text = metrics_.Render();
    EXPECT_TRUE(absl::StrContains(text, line + "\n")) << line << "\nis not in\n" << text;
  }
  void ExpectNoLine(const std::string& part) {
    EXPECT_FALSE(absl::StrContains(metrics_.Render(), part)) << part;
  }

  std::string token_;
  RpcStats stats_;
  Metrics metrics_{stats_, [] { return ReportCounts{11, 1}; }};
};

TEST_F(MetricsTest, ARunningTrialHasItsCountersAndGauges) {
  Train();
  const std::string id = "{experiment=\"1\",trial=\"1\"";
  ExpectLine("dtrain_trial_loss" + id + ",split=\"train\"} 3.25");
  ExpectLine("dtrain_trial_loss" + id + ",split=\"val\"} 3.125");
  ExpectLine("dtrain_trial_eval_accuracy_ratio" + id + ",task=\"hellaswag\"} 0.25");
  ExpectLine("dtrain_trial_eval_accuracy_ratio" + id + ",task=\"hellaswag_norm\"} 0.5");
  ExpectLine("dtrain_trial_tokens_total" + id + "} 200");
  ExpectLine("dtrain_trial_steps_total" + id + "} 2");
  ExpectLine("dtrain_trial_nonfinite_steps_total" + id + "} 1");
  ExpectLine("dtrain_trial_flops_total" + id + "} 6000");
  ExpectLine("dtrain_trial_peak_flops" + id + "} 50000");
  ExpectNoLine("dtrain_trial_noise_scale_tokens{");
  ExpectLine("dtrain_trial_step" + id + "} 2");
  ExpectLine("dtrain_trial_target_steps" + id + "} 10");
  ExpectLine("dtrain_trial_attempt" + id + "} 1");
  ExpectLine("dtrain_trial_world_size" + id + "} 1");
  ExpectLine("dtrain_trial_learning_rate" + id + "} 0.5");
  ExpectLine("dtrain_trial_phase_seconds_total" + id + ",phase=\"forward\"} 0.5");
  const std::string way = id + ",op=\"all_gather\",axis=\"shard\"} ";
  ExpectLine("dtrain_trial_collective_bytes_total" + way + "2000");
  ExpectLine("dtrain_trial_collective_bus_bytes_total" + way + "1000");
  ExpectLine("dtrain_trial_collective_seconds_total" + way + "0.5");
  ExpectLine("dtrain_trial_collective_exposed_seconds_total" + way + "0.25");
  ExpectLine("dtrain_trial_collectives_total" + way + "4");
  ExpectLine("dtrain_trial_checkpoint_bytes" + id + "} 4096");
  ExpectLine("dtrain_trials{experiment=\"1\",state=\"running\"} 1");
  ExpectLine("dtrain_trials{experiment=\"1\",state=\"pending\"} 1");
  ExpectLine("dtrain_experiments{state=\"running\"} 1");
  ExpectLine("dtrain_workers{state=\"busy\"} 1");
  ExpectLine("dtrain_slots{device=\"cpu\",state=\"busy\"} 1");
  ExpectLine("dtrain_slots{device=\"cuda\",state=\"idle\"} 0");
  ExpectLine("dtrain_rendezvous_seconds_count 1");
  ExpectLine("dtrain_rendezvous_seconds_sum 2");
  ExpectLine("dtrain_reports_total 11");
  ExpectLine("dtrain_exported_trials 1");
  ExpectLine("dtrain_experiment_gpu_seconds_total{experiment=\"1\",use=\"productive\"} 0");
  EXPECT_TRUE(absl::StrContains(metrics_.Render(),
                                "optimizer_lr=\"0.0001\",parameters=\"optimizer.lr=0.0001\""));
}

TEST_F(MetricsTest, SlotSecondsTellTrainingThatHoldsFromPreparingAndRepeating) {
  Train();  // two seconds from the choice of the slot to training
  clock_.Advance(absl::Seconds(3));
  v1::Ended& ended = *AddItem(token_).mutable_ended();
  ended.set_cause(v1::CAUSE_TRAINER_CRASH);
  ended.set_step(4);  // half of the steps are before the checkpoint
  Report();
  TurnOk();
  Show();
  ExpectLine("dtrain_experiment_gpu_seconds_total{experiment=\"1\",use=\"productive\"} 2");
  ExpectLine("dtrain_experiment_gpu_seconds_total{experiment=\"1\",use=\"restart\"} 4");
}

TEST_F(MetricsTest, TheHeartbeatOfTheMostSilentWorkerIsATimestamp) {
  Show();
  ExpectNoLine("worker_oldest_heartbeat");
  Train();
  EXPECT_FALSE(std::isnan(scrape_->oldest_heartbeat_wall_seconds));
  EXPECT_NEAR(scrape_->oldest_heartbeat_wall_seconds,
              static_cast<double>(clock_.Now().wall_ms) / 1000, 1e-3);
}

TEST_F(MetricsTest, AnEndedTrialStaysTenMinutesAndThenLeaves) {
  Train();
  v1::Ended& ended = *AddItem(token_).mutable_ended();
  ended.set_cause(v1::CAUSE_FINISHED);
  ended.set_step(10);
  Report();
  TurnOk();
  Show();
  ExpectLine("dtrain_trials_finished_total{experiment=\"1\",outcome=\"finished\"} 1");
  ExpectLine("dtrain_trial_step{experiment=\"1\",trial=\"1\"} 10");
  clock_.Advance(absl::Minutes(9));
  Show();
  ExpectLine("dtrain_trial_step{experiment=\"1\",trial=\"1\"} 10");
  clock_.Advance(absl::Minutes(2));
  Show();
  ExpectNoLine("dtrain_trial_step{experiment=\"1\",trial=\"1\"}");
}

TEST_F(MetricsTest, AnEndedExperimentIsNotExpectedToEnd) {
  Train();
  const std::string series = "dtrain_experiment_eta_timestamp_seconds{experiment=\"1\"}";
  EXPECT_TRUE(absl::StrContains(metrics_.Render(), series)) << metrics_.Render();
  v1::CancelRequest cancel;
  cancel.set_experiment(1);
  Call(2, cancel);
  TurnOk();
  AddItem(token_).mutable_ended()->set_cause(v1::CAUSE_CANCELLED);
  Report();
  TurnOk();
  Show();
  ExpectLine("dtrain_experiments{state=\"cancelled\"} 1");
  ExpectLine("dtrain_experiment_progress_ratio{experiment=\"1\"} 0.1");
  ExpectNoLine(series);
}

TEST_F(MetricsTest, AnAttemptThatIsFollowedByAnotherCountsAsARestart) {
  Train();
  // Present before the first event, which would otherwise not count as an increase.
  ExpectLine("dtrain_trial_restarts_total{experiment=\"1\",reason=\"trainer_crash\"} 0");
  ExpectLine("dtrain_trials_finished_total{experiment=\"1\",outcome=\"nonfinite\"} 0");
  v1::Ended& ended = *AddItem(token_).mutable_ended();
  ended.set_cause(v1::CAUSE_TRAINER_CRASH);
  Report();
  TurnOk();
  Show();
  ExpectLine("dtrain_trial_restarts_total{experiment=\"1\",reason=\"trainer_crash\"} 1");
}

TEST_F(MetricsTest, ASilentWorkerIsCountedLostOnce) {
  Connect();
  Pass(limits::kStartupGrace + limits::kLease + absl::Seconds(4));
  metrics_.SetScrape(scrape_);
  ExpectLine("dtrain_workers{state=\"lost\"} 1");
  ExpectLine("dtrain_worker_losses_total{reason=\"lease\"} 1");
}

TEST_F(MetricsTest, CountersOfTheLifeCycleSurviveARestart) {
  Train();
  v1::Ended& ended = *AddItem(token_).mutable_ended();
  ended.set_cause(v1::CAUSE_TRAINER_CRASH);
  Report();
  TurnOk();
  Restart();
  clock_.Advance(absl::Seconds(1));
  TurnOk();
  metrics_.SetScrape(scrape_);
  ExpectLine("dtrain_trial_restarts_total{experiment=\"1\",reason=\"trainer_crash\"} 1");
}

TEST_F(MetricsTest, OverTheCapTheBestAndTheNewestTrialsStay) {
  MetricsModel model(2);
  Call(1, Grid("a", 5));
  TurnOk();
  const State& state = loop_->state();
  for (uint32_t trial = 1; trial <= 5; ++trial) {
    v1::Record record;
    record.set_wall_time_ms(1000 * trial);
    record.mutable_attempt_started()->set_experiment(1);
    record.mutable_attempt_started()->set_trial(trial);
    model.CountRecord(state, record);
  }
  const auto scrape = model.TakeScrape(state, clock_.Now());
  ASSERT_EQ(scrape->trials.size(), 2u);
  EXPECT_EQ(scrape->omitted_trials, 3u);
  EXPECT_EQ(scrape->trials[0].id.trial, 5u);
  EXPECT_EQ(scrape->trials[1].id.trial, 4u);
}

// Returns an ASHA experiment with a target of 3: two trials reached rung 1, one went on; four wait.
Experiment Searched() {
  Experiment experiment;
  experiment.id = 1;
  experiment.submitted_wall_ms = 1000;
  v1::Search& search = *experiment.spec.mutable_search();
  search.set_method("asha");
  search.set_metric("val_loss");
  search.set_goal("minimize");
  search.set_target(3);
  search.mutable_asha()->set_rungs(2);
  experiment.planned = 8;
  experiment.trials.resize(6);
  experiment.trials[0].rungs = {{1, 4, 3.5, true}};
  experiment.trials[1].rungs = {{1, 4, 4.5, false}};
  experiment.pending = 4;
  experiment.active = 1;
  experiment.finished = 1;
  experiment.stopped_early = 1;
  return experiment;
}

TEST_F(MetricsTest, ASearchHasItsRungsEarlyEndsAndReasonsOfWaits) {
  State state;
  state.durable.experiments[1] = Searched();
  RebuildProgress(state);
  state.live.parked[{1, 3}].why = ParkedTrial::Why::kBackoff;
  MetricsModel model(10);
  metrics_.SetScrape(model.TakeScrape(state, clock_.Now()));
  const std::string id = "{experiment=\"1\"";
  ExpectLine("dtrain_rung_trials" + id + ",rung=\"1\",decision=\"goes_on\"} 1");
  ExpectLine("dtrain_rung_trials" + id + ",rung=\"1\",decision=\"ended\"} 1");
  ExpectLine("dtrain_rung_trials" + id + ",rung=\"2\",decision=\"goes_on\"} 0");
  ExpectLine("dtrain_trials_stopped_early" + id + "} 1");
  ExpectLine("dtrain_experiment_planned_trials" + id + "} 8");
  ExpectLine("dtrain_trials_waiting" + id + ",reason=\"backoff\"} 1");
  ExpectLine("dtrain_trials_waiting" + id + ",reason=\"slots\"} 3");
  ExpectLine("dtrain_trials_waiting" + id + ",reason=\"paused\"} 0");
  ExpectLine("dtrain_experiment_paused" + id + "} 0");
  ExpectLine("dtrain_experiment_target_reached" + id + "} 0");
  ExpectNoLine("dtrain_experiment_ended_timestamp_seconds{");
}

TEST_F(MetricsTest, TrialsOfAPausedExperimentWaitForAUserAndAtItsLimitForEachOther) {
  State state;
  Experiment& experiment = state.durable.experiments[1] = Searched();
  experiment.paused = true;
  MetricsModel model(10);
  metrics_.SetScrape(model.TakeScrape(state, clock_.Now()));
  ExpectLine("dtrain_experiment_paused{experiment=\"1\"} 1");
  ExpectLine("dtrain_trials_waiting{experiment=\"1\",reason=\"paused\"} 4");
  experiment.paused = false;
  experiment.spec.mutable_search()->set_max_concurrent(1);
  metrics_.SetScrape(model.TakeScrape(state, clock_.Now()));
  ExpectLine("dtrain_trials_waiting{experiment=\"1\",reason=\"max_concurrent\"} 4");
}

TEST_F(MetricsTest, AnEndedSearchSaysWhenAndWhetherItReachedItsTarget) {
  State state;
  Experiment& experiment = state.durable.experiments[1] = Searched();
  experiment.pending = experiment.active = 0;
  experiment.finished = 6;
  experiment.search_ended = true;
  experiment.ended_wall_ms = clock_.Now().wall_ms;
  state.live.progress[1].ranked = {{2.5, 1}};
  state.live.progress[1].trials = {{0, 2.5}};
  MetricsModel model(10);
  metrics_.SetScrape(model.TakeScrape(state, clock_.Now()));
  ExpectLine("dtrain_experiment_target_reached{experiment=\"1\"} 1");
  ExpectLine("dtrain_experiment_planned_trials{experiment=\"1\"} 6");
  EXPECT_TRUE(absl::StrContains(metrics_.Render(),
                                "dtrain_experiment_ended_timestamp_seconds{experiment=\"1\"} "));
}

TEST_F(MetricsTest, LongNamesInAnyScriptAreCutBetweenCharacters) {
  std::string name;
  while (name.size() < 120) name += "\xe8\xae\xad\xe7\xbb\x83";  // three bytes each
  Connect();
  v1::SubmitRequest request = Grid("a");
  request.mutable_spec()->set_name(name);
  v1::Parameter& parameter = *request.mutable_spec()->add_parameters();
  parameter.set_path("data.train");
  parameter.add_values()->set_text("x" + name);
  Call(1, request);
  TurnOk();
  Run(Token());
  Hold(Token(), v1::AttemptStatus::TRAINING);
  Show();
  EXPECT_TRUE(IsUtf8(metrics_.Render()));
  ExpectLine("dtrain_exported_trials 1");
  EXPECT_TRUE(absl::StrContains(metrics_.Render(), "name=\"" + name.substr(0, 63) + "\""));
}

// Trains a program's trial whose parameters are `paths`, each with the value `text`.
class HostileNamesTest : public MetricsTest {
 protected:
  void TrainWith(const std::vector<std::string>& paths, const std::string& text) {
    Connect();
    v1::SubmitRequest request = Grid("a");
    request.mutable_spec()->clear_parameters();
    request.mutable_spec()->mutable_base()->clear_data();
    request.mutable_spec()->mutable_base()->mutable_train()->clear_max_steps();
    request.mutable_spec()->mutable_base()->add_command("true");
    for (const std::string& path : paths) {
      v1::Parameter& parameter = *request.mutable_spec()->add_parameters();
      parameter.set_path(path);
      parameter.add_values()->set_text(text);
    }
    Call(1, request);
    TurnOk();
    ASSERT_FALSE(publisher_.replies.empty());
    ASSERT_TRUE(publisher_.replies.back().status.ok()) << publisher_.replies.back().status;
    Run(Token());
    Hold(Token(), v1::AttemptStatus::TRAINING);
    Show();
  }
  // Returns the labels of the one trial_info, as a scrape reads them.
  testing::Exposition::Labels Info() {
    testing::Exposition read;
    const std::string text = metrics_.Render();
    EXPECT_EQ(read.Read(text), "") << text;
    const auto found = read.series().equal_range("dtrain_trial_info");
    EXPECT_EQ(std::distance(found.first, found.second), 1) << text;
    return found.first == found.second ? testing::Exposition::Labels() : found.first->second;
  }
};

TEST_F(HostileNamesTest, AParameterNeverTakesALabelOfOurs) {
  TrainWith(
      {"trial", "experiment", "name", "parameters", "model", "mesh", "world_size", "precision"},
      "nine");
  const auto labels = Info();
  EXPECT_EQ(labels.at("trial"), "1");
  EXPECT_EQ(labels.at("parameter_trial"), "nine");
  EXPECT_EQ(labels.at("experiment"), "1");
  EXPECT_EQ(labels.at("parameter_experiment"), "nine");
  EXPECT_EQ(labels.at("parameter_world_size"), "nine");
  EXPECT_EQ(labels.at("world_size"), "1");
  EXPECT_EQ(labels.count("parameter_mesh"), 1u);
}

TEST_F(HostileNamesTest, NamesThatPrometheusReservesGetAPrefix) {
  TrainWith({"le", "quantile", "job", "instance", "__name__", "__x", "_y"}, "nine");
  const auto labels = Info();
  for (const char* name : {"parameter_le", "parameter_quantile", "parameter_job",
                           "parameter_instance", "parameter___name__", "parameter___x", "_y"}) {
    EXPECT_EQ(labels.count(name), 1u) << name;
  }
  EXPECT_EQ(labels.count("le"), 0u);
}

TEST_F(HostileNamesTest, PathsThatDifferOnlyInPunctuationHaveALabelEach) {
  TrainWith({"a.b", "a_b", "a-b", "parameter_a_b", "strategy", "parameter_strategy"}, "nine");
  const auto labels = Info();
  for (const char* name :
       {"a_b", "parameter_a_b", "parameter_parameter_a_b", "parameter_parameter_parameter_a_b",
        "parameter_strategy", "parameter_parameter_strategy"}) {
    EXPECT_EQ(labels.count(name), 1u) << name;
  }
}

TEST_F(HostileNamesTest, ValuesOfAnyTextStayWithinTheirQuotes) {
  std::string text = "a\"} 1\\ndtrain_ready 7 \\n \\ {,=";
  text += std::string(200, 'x');
  TrainWith({"lr", "trial"}, text);
  const auto labels = Info();
  EXPECT_EQ(labels.at("lr").substr(0, 6), "a\"} 1\\");
  EXPECT_LE(labels.at("lr").size(), 64u);
  EXPECT_LE(labels.at("parameters").size(), 160u);
  ExpectLine("dtrain_exported_trials 1");
}

TEST_F(MetricsTest, TheFormatIsKeptToTheLetter) {
  Train();
  stats_.CountEnd("Submit", grpc::StatusCode::OK);
  stats_.CountTime("Submit", absl::Milliseconds(3));
  testing::Exposition read;
  EXPECT_EQ(read.Read(metrics_.Render()), "");
  EXPECT_GT(read.series().size(), 100u);
}

TEST(ExpositionTest, TheReaderRefusesWhatAScrapeRefusesOrMisunderstands) {
  const std::string head = "# HELP a b\n# TYPE a gauge\n";
  EXPECT_EQ(testing::Exposition().Read(head + "a{b=\"1\",c=\"x\\\"\"} 1\n"), "");
  for (const char* wrong :
       {"a{b=\"1\",b=\"2\"} 1\n", "a 1\na 2\n", "a{b=\"1\"} 1\na{b=\"1\"} 2\n", "a{b=\"\\x\"} 1\n",
        "a{1b=\"1\"} 1\n", "a{__b=\"1\"} 1\n", "a{b.c=\"1\"} 1\n", "a{b=\"1\"} x\n", "b 1\n",
        "a{b=\"1} 1\n", "a{b=1} 1\n", "a 1\n# TYPE a gauge\n", "# HELP a c\na 1\n",
        "a{b=\"\xff\"} 1\n", "a 1"}) {
    EXPECT_NE(testing::Exposition().Read(head + wrong), "") << wrong;
  }
}

TEST_F(MetricsTest, PromtoolFindsNothingToSayAboutARendering) {
  Train();
  stats_.CountEnd("Submit", grpc::StatusCode::OK);
  stats_.CountEnd("Submit", grpc::StatusCode::NOT_FOUND);
  stats_.CountTime("Submit", absl::Milliseconds(3));
  metrics_.SetReadiness(Metrics::Readiness::kReady);
  if (std::system("promtool --version >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "promtool is not installed (package prometheus)";
  }
  const testing::TempFolder folder;
  const std::string file = folder.Write("metrics", metrics_.Render());
  const std::string said = folder / "said";
  const int code =
      std::system(("promtool check metrics < " + file + " > " + said + " 2>&1").c_str());
  EXPECT_EQ(code, 0) << testing::Slurp(said);
}

}  // namespace
}  // namespace dt
