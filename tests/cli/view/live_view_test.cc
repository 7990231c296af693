// live_view_test.cc: the complete screen that a user sees while an experiment runs and after it.
#include "cli/view/live_view.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "cli/view/glyphs.h"
#include "cli/view/trial_table.h"
#include "cli/view/words.h"
#include "gtest/gtest.h"

namespace dt::cli {
namespace {

constexpr int64_t kStart = 1700000000000;

v1::TrialSummary MakeTrial(uint32_t number, v1::TrialState state, int64_t batch_size, double lr) {
  v1::TrialSummary trial;
  trial.set_experiment(12);
  trial.set_trial(number);
  trial.set_state(state);
  trial.set_world_size(2);
  trial.set_target_steps(200);
  trial.set_eta_seconds(-1);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  trial.set_comm_ratio(nan);
  trial.set_val_loss(nan);
  trial.set_best_val_loss(nan);
  trial.set_metric_value(nan);
  v1::Assignment* assignment = trial.add_assignments();
  assignment->set_path("train.batch_size");
  assignment->mutable_value()->set_integer(batch_size);
  assignment = trial.add_assignments();
  assignment->set_path("optimizer.lr");
  assignment->mutable_value()->set_number(lr);
  return trial;
}

v1::TrialSummary Running(v1::TrialSummary trial, uint64_t step, double loss) {
  trial.set_step(step);
  trial.set_attempts(1);
  trial.set_tokens_per_second(12345);
  trial.set_eta_seconds(22.6);
  v1::StepRow& row = *trial.mutable_latest();
  row.set_step(step);
  row.set_loss(loss);
  trial.set_comm_ratio(0.25);
  return trial;
}

v1::TrialSummary Finished(v1::TrialSummary trial, double loss, double val_loss) {
  trial = Running(std::move(trial), 200, loss);
  trial.set_state(v1::TRIAL_FINISHED);
  trial.set_cause(v1::CAUSE_FINISHED);
  trial.set_val_loss(val_loss);
  trial.set_best_val_loss(val_loss);
  trial.set_best_val_step(160);
  trial.set_metric_value(val_loss);
  trial.set_started_wall_ms(kStart);
  trial.set_ended_wall_ms(kStart + 129000);
  trial.set_training_seconds(41);  // it waited for the rest of the time
  return trial;
}

v1::TrialSummary OutOfMemory(v1::TrialSummary trial) {
  trial.set_state(v1::TRIAL_FAILED);
  trial.set_cause(v1::CAUSE_OOM);
  trial.set_message("rank 0 asked for 2.1 GiB of 1.0 GiB at step 0");
  return trial;
}

// Returns a 2 × 2 grid halfway: one trial finished, one running, one out of memory, one waiting.
LiveState HalfWay() {
  LiveState state;
  v1::ExperimentSummary& experiment = state.experiment;
  experiment.set_experiment(12);
  experiment.set_name("quickstart");
  experiment.set_state(v1::EXPERIMENT_RUNNING);
  experiment.set_trials(4);
  experiment.set_running(1);
  experiment.set_pending(1);
  experiment.set_finished(1);
  experiment.set_failed(1);
  experiment.set_oom(1);
  experiment.set_progress_ratio(0.6125);
  experiment.set_eta_seconds(47.2);
  experiment.set_metric("val_loss");
  experiment.set_goal("minimize");
  experiment.set_submitted_wall_ms(kStart);
  state.trials = {Finished(MakeTrial(1, v1::TRIAL_FINISHED, 8, 0.001), 2.3456, 2.41),
                  Running(MakeTrial(2, v1::TRIAL_RUNNING, 8, 0.003), 90, 3.1042),
                  OutOfMemory(MakeTrial(3, v1::TRIAL_FAILED, 16, 0.001)),
                  MakeTrial(4, v1::TRIAL_PENDING, 16, 0.003)};
  state.trials[3].set_waiting("both slots are taken by 12/2");
  return state;
}

LiveOptions Wide() { return {.width = 120, .rows = 30, .now_wall_ms = kStart + 72000}; }

std::string Text(const std::vector<Line>& lines, Colour colour = Colour::kOff) {
  std::string text = "\n";
  for (const Line& line : lines) absl::StrAppend(&text, RenderLine(line, colour), "\n");
  return text;
}

TEST(LiveViewTest, AFrameShowsTheBarEveryTrialAndWaitsAndFailures) {
  EXPECT_EQ(Text(LiveFrame(HalfWay(), Wide())), R"(
experiment 12  quickstart  running · 2 of 4 trials done · 1 failed: oom
██████████████████████████████▋░░░░░░░░░░░░░░░░░░░  61%  1 min 12 s so far · about 48 s left

TRIAL  batch_size     lr  STATE          PROGRESS                 STEP    LOSS  VAL LOSS  TOKENS/S  COMM SHARE  LEFT
12/1            8  0.001  ✔ finished     ████████████████████  200/200  2.3456    2.4100     12.3k         25%     -
12/2            8  0.003  ● running      █████████░░░░░░░░░░░   90/200  3.1042         -     12.3k         25%   23s
12/3           16  0.001  ✘ failed: oom  ░░░░░░░░░░░░░░░░░░░░    0/200       -         -         -           -     -
12/4           16  0.003  ○ pending      ░░░░░░░░░░░░░░░░░░░░    0/200       -         -         -           -     -

12/3 rank 0 asked for 2.1 GiB of 1.0 GiB at step 0
12/4 waits: both slots are taken by 12/2
)");
}

TEST(LiveViewTest, NarrowTerminalsKeepParametersAndTimeLeftUncut) {
  LiveState state = HalfWay();
  for (v1::TrialSummary& trial : state.trials) {
    trial.mutable_assignments(1)->mutable_value()->set_number(0.00025);
  }
  state.trials[1].set_eta_seconds(829);
  for (const int width : {80, 100, 120}) {
    LiveOptions options = Wide();
    options.width = width;
    const std::vector<Line> lines = LiveFrame(state, options);
    for (size_t i = 3; i < 8; ++i) {  // the table
      EXPECT_LE(DisplayWidth(RenderLine(lines[i], Colour::kOff)), width);
    }
    const std::string header = RenderLine(lines[3], Colour::kOff);
    const std::string running = RenderLine(lines[5], Colour::kOff);
    EXPECT_NE(header.find("LEFT"), std::string::npos) << header;
    EXPECT_NE(running.find("0.00025"), std::string::npos) << running;
    EXPECT_NE(running.find("14m"), std::string::npos) << running;
    EXPECT_EQ(header.find("PROGRESS") != std::string::npos, width >= 90) << header;
    EXPECT_NE(running.find("█"), std::string::npos) << "a bar, if a short one: " << running;
    EXPECT_NE(running.find("25%"), std::string::npos) << "the share of communication: " << running;
  }
}

TEST(LiveViewTest, AProgramShowsItsMetricAndNothingThatItLacks) {
  LiveState state = HalfWay();
  state.program = true;
  state.experiment.set_metric("accuracy");
  for (v1::TrialSummary& trial : state.trials) {
    trial.clear_latest();
    trial.set_tokens_per_second(0);
    trial.set_world_size(1);
    trial.set_val_loss(std::numeric_limits<double>::quiet_NaN());
  }
  state.trials[1].set_metric_newest(0.875);
  for (const int width : {80, 120}) {
    LiveOptions options = Wide();
    options.width = width;
    const std::vector<Line> lines = LiveFrame(state, options);
    const std::string header = RenderLine(lines[3], Colour::kOff);
    for (const char* column : {"LOSS", "TOK", "COMM"}) {
      EXPECT_EQ(header.find(column), std::string::npos) << header;
    }
    for (const char* column : {"accuracy", "STEP", "STATE", "LEFT"}) {
      EXPECT_NE(header.find(column), std::string::npos) << header;
    }
    EXPECT_NE(RenderLine(lines[5], Colour::kOff).find("0.8750"), std::string::npos);
    for (size_t i = 3; i < 8; ++i) {
      EXPECT_LE(DisplayWidth(RenderLine(lines[i], Colour::kOff)), width);
    }
  }
}

// Halfway, with two objectives of which `first` is one that trials have columns for.
LiveState OfTwoObjectives(const std::string& first) {
  LiveState state = HalfWay();
  state.experiment.set_metric(first);
  for (const std::string& name : {first, std::string("seconds")})
    state.experiment.add_metrics(name);
  v1::TrialSummary& trial = state.trials[0];
  const double value = first == "loss" ? trial.latest().loss() : trial.val_loss();
  trial.set_metric_value(value);
  trial.add_objectives(value);
  trial.add_objectives(31.5);
  trial.set_pareto(true);
  state.experiment.add_pareto_trials(1);
  return state;
}

size_t Times(const std::string& text, const std::string& part) {
  size_t times = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++times;
  return times;
}

TEST(LiveViewTest, EachOfSeveralObjectivesIsShownOnce) {
  for (const std::string first : {"loss", "val_loss"}) {
    const LiveState state = OfTwoObjectives(first);
    const std::string value = first == "loss" ? "2.3456" : "2.4100";
    Results results;
    results.state = state;
    LiveLog log;
    for (const std::string& text :
         {Text(LiveFrame(state, Wide())), Text(ResultLines(results, Wide())),
          log.Update(state, kStart + 1000).at(0)}) {
      EXPECT_EQ(Times(text, value), 1u) << text;
      EXPECT_EQ(Times(text, "31.5000"), 1u) << text;
      EXPECT_EQ(Times(text, "BEST"), 0u) << text;
    }
  }
  const std::vector<std::string> lines =
      LiveLog().Update(OfTwoObjectives("val_loss"), kStart + 1000);
  EXPECT_EQ(
      lines.at(0),
      "[1 s] 12/1 finished at step 200/200, loss 2.3456, val_loss 2.4100, seconds 31.5000; on "
      "the Pareto front");
}

TEST(LiveViewTest, ALongNameOfAMetricGivesWayBeforeAnyColumnDoes) {
  Table table;
  table.columns = {{"TRIAL"}, MetricColumn("val/mean average precision@100 (%)"), {"STATE"}};
  table.rows = {{{"13/1"}, {"0.9966"}, {"finished"}}};
  const std::vector<Line> lines = LayOut(table, {.width = 30});
  EXPECT_TRUE(LeftOutOf(table, {.width = 30}).empty());
  EXPECT_NE(RenderLine(lines.at(0), Colour::kOff).find("val/"), std::string::npos);
  EXPECT_NE(RenderLine(lines.at(1), Colour::kOff).find("0.9966  finished"), std::string::npos);
}

TEST(LiveViewTest, WithoutUtf8TheFrameIsAscii) {
  LiveOptions options = Wide();
  options.glyphs = Glyphs::kAscii;
  const std::string text = Text(LiveFrame(HalfWay(), options));
  for (char c : text) ASSERT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << text;
}

TEST(LiveViewTest, ResultsAreSortedByTheMetricAndEndWithCommands) {
  Results results;
  results.state = HalfWay();
  results.state.trials[0].set_val_loss(2.48);  // the newest is not the best
  results.page = "http://127.0.0.1:7601/#/experiments/12";
  results.best_checkpoint.emplace();
  results.best_checkpoint->mutable_checkpoint()->set_path("12/1/a1/step-200");
  results.best_checkpoint->mutable_checkpoint()->set_loss(2.43);
  results.best_checkpoint->mutable_checkpoint()->set_step(200);
  results.best_checkpoint->mutable_checkpoint()->set_bytes(1572864);
  results.best_checkpoint->add_seen_by("gpu07/0");
  EXPECT_EQ(Text(ResultLines(results, Wide())), R"(
Experiment 12 quickstart: running after 1 min 12 s

TRIAL  batch_size     lr           BEST  VAL LOSS    LOSS     STEP  TOKENS/S  COMM SHARE  TIME  STATE
12/1            8  0.001  2.4100 at 160    2.4800  2.3456  200/200     12.3k         25%   41s  finished
12/2            8  0.003              -         -  3.1042   90/200     12.3k         25%     -  running
12/3           16  0.001              -         -       -    0/200         -           -     -  failed: oom
12/4           16  0.003              -         -       -    0/200         -           -     -  pending

Best trial:  12/1  val_loss 2.4100  batch_size=8 lr=0.001
Checkpoint:  12/1/a1/step-200  step 200, val loss 2.4300, 1.50 MiB, under --storage of gpu07/0

12/3: rank 0 asked for 2.1 GiB of 1.0 GiB at step 0

Look further:
  dtctl explain 12/3                          why it failed
  dtctl retry 12 --failed                     run the failed ones again
  dtctl describe 12/1                         settings, provenance, attempts
  dtctl metrics 12 > metrics.csv              every logged step
  dtctl report 12 -o report.html              tables and figures, one file
  dtctl logs 12/1                             what it printed
  http://127.0.0.1:7601/#/experiments/12      the page: all of it in a browser
)");
}

TEST(LiveViewTest, ReasonsOfFailuresAreShownOnceAtTheEnd) {
  Results results;
  results.state = HalfWay();
  for (v1::TrialSummary& trial : results.state.trials) {
    trial.set_state(v1::TRIAL_FAILED);
    trial.set_message("its last line: KeyError: 'lr'");
  }
  results.state.trials[1].set_message("out of memory");
  const std::string text = Text(ResultLines(results, Wide()));
  const std::string lines =
      "\n12/1 and 2 more: its last line: KeyError: 'lr'\n12/2: out of memory\n";
  EXPECT_NE(text.find(lines), std::string::npos) << text;
}

TEST(LiveViewTest, AMissingMetricIsReportedOnceInTheFrameTheEndAndTheNote) {
  LiveState state = HalfWay();
  for (v1::TrialSummary& trial : state.trials) trial.set_hint("it reported nothing");
  state.trials[1].set_hint("'phase' is left out");
  const std::string lines = "\n12/1 and 1 more: it reported nothing\n12/2: 'phase' is left out\n";
  EXPECT_NE(Text(LiveFrame(state, Wide())).find(lines), std::string::npos)
      << Text(LiveFrame(state, Wide()));
  Results results;
  results.state = state;
  EXPECT_NE(Text(ResultLines(results, Wide())).find(lines), std::string::npos)
      << Text(ResultLines(results, Wide()));
  EXPECT_EQ(NoteText(state.trials[0]), "it reported nothing");
  EXPECT_EQ(NoteText(state.trials[2]), "rank 0 asked for 2.1 GiB of 1.0 GiB at step 0")
      << "the reason of the failure counts";
  EXPECT_EQ(NoteText(state.trials[3]), "both slots are taken by 12/2");
}

TEST(LiveViewTest, AFrameNeverExceedsTheTerminal) {
  LiveState state = HalfWay();
  for (uint32_t number = 5; number <= 500; ++number) {
    state.trials.push_back(MakeTrial(number, v1::TRIAL_PENDING, 32, 0.01));
  }
  state.experiment.set_trials(500);
  state.experiment.set_pending(497);
  for (const int rows : {5, 12, 24, 60}) {
    LiveOptions options = Wide();
    options.rows = rows;
    const auto lines = LiveFrame(state, options);
    EXPECT_LT(lines.size(), static_cast<size_t>(rows));
    if (rows < 20) continue;
    const std::string text = Text(lines);
    EXPECT_NE(text.find("12/2 "), std::string::npos) << "running trials are always shown\n" << text;
    EXPECT_NE(text.find(" more: "), std::string::npos) << text;
  }
}

TEST(LiveViewTest, ASearchSaysHowManyTrialsAreToComeAndInTheEndWhyNoMoreCame) {
  LiveState state = HalfWay();
  state.experiment.set_planned_trials(24);
  v1::TrialSummary& early = state.trials[0];
  early.set_cause(v1::CAUSE_STOPPED_EARLY);
  early.set_step(50);
  std::string text = Text(LiveFrame(state, Wide()));
  EXPECT_NE(text.find("2 of 24 trials done"), std::string::npos) << text;
  EXPECT_NE(text.find("\nto come: up to 20 trials, each proposed when it has slots\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("stopped early  █████░░░"), std::string::npos)
      << "its bar ends where it ended\n"
      << text;

  Results results;
  results.state = state;
  results.state.experiment.set_state(v1::EXPERIMENT_FINISHED);
  results.state.experiment.set_stopped_early(1);
  results.state.experiment.set_search_end(
      "trial 12/1: val_loss 2.41 at step 50 reaches the target");
  text = Text(ResultLines(results, Wide()));
  EXPECT_NE(
      text.find("\n1 of 4 trials stopped early\n"
                "The search ended: trial 12/1: val_loss 2.41 at step 50 reaches the target\n"),
      std::string::npos)
      << text;
  EXPECT_EQ(Text(LiveFrame(results.state, Wide())).find("to come"), std::string::npos);
}

TEST(LiveViewTest, ColourOnlyAddsEscapeCodes) {
  std::string coloured = Text(LiveFrame(HalfWay(), Wide()), Colour::kOn);
  EXPECT_NE(coloured.find("\x1b[31m"), std::string::npos) << "a failure is red";
  for (size_t at; (at = coloured.find('\x1b')) != std::string::npos;) {
    coloured.erase(at, coloured.find('m', at) - at + 1);
  }
  EXPECT_EQ(coloured, Text(LiveFrame(HalfWay(), Wide())));
}

TEST(LiveViewTest, OffATerminalEveryChangeIsOneLineAndASummaryComesEveryTenSeconds) {
  LiveLog log;
  LiveState state = HalfWay();
  state.trials.resize(2);
  EXPECT_EQ(
      log.Update(state, kStart + 1000),
      (std::vector<std::string>{
          "[1 s] 12/1 finished at step 200/200, loss 2.3456, val loss 2.4100", "[1 s] 12/2 running",
          "[1 s] 12 running: 61%, 2 of 4 trials done, about 48 s left; 12/2 step 90/200 "
          "loss 3.1042 12.3k tokens/s, 25% communication, 23s left"}));
  EXPECT_TRUE(log.Update(state, kStart + 2000).empty()) << "nothing has changed";
  state.trials[1].set_state(v1::TRIAL_PENDING);
  state.trials[1].set_waiting("10 s after worker_lost");
  EXPECT_EQ(log.Update(state, kStart + 3000),
            (std::vector<std::string>{"[3 s] 12/2 pending: 10 s after worker_lost"}));
  state.trials[1].set_state(v1::TRIAL_RUNNING);
  state.trials[1].set_attempts(2);
  EXPECT_EQ(log.Update(state, kStart + 4000),
            (std::vector<std::string>{"[4 s] 12/2 running, attempt 2"}));
  EXPECT_EQ(log.Update(state, kStart + 12000).size(), 1u);
}

TEST(LiveViewTest, AnEndedTrialHasNoTimeLeftAndNoStepThatItNeverMade) {
  LiveLog log;
  LiveState state = HalfWay();
  state.experiment.set_state(v1::EXPERIMENT_CANCELLED);
  state.experiment.set_eta_seconds(0);
  state.trials = {MakeTrial(4, v1::TRIAL_CANCELLED, 16, 0.003)};
  state.trials[0].set_target_steps(0);
  EXPECT_EQ(log.Update(state, kStart + 1000),
            (std::vector<std::string>{"[1 s] 12/4 cancelled",
                                      "[1 s] 12 cancelled: 61%, 2 of 4 trials done"}));
}

TEST(LiveViewTest, AnAbsentCoordinatorIsReportedOnceAndSoIsItsReturn) {
  LiveLog log;
  LiveState state = HalfWay();
  log.Update(state, kStart);
  state.notice = "No answer from the coordinator for 1 s";
  EXPECT_EQ(log.Update(state, kStart + 1000).size(), 1u);
  state.notice = "No answer from the coordinator for 2 s";
  EXPECT_TRUE(log.Update(state, kStart + 2000).empty());
  state.notice.clear();
  EXPECT_EQ(log.Update(state, kStart + 3000).size(), 1u);
}

TEST(LiveViewTest, MaximizingPutsTheHighestFirst) {
  LiveState state = HalfWay();
  state.trials = {Finished(MakeTrial(1, v1::TRIAL_FINISHED, 8, 0.001), 2, 0.25),
                  Finished(MakeTrial(2, v1::TRIAL_FINISHED, 8, 0.003), 2, 0.75)};
  state.experiment.set_goal("maximize");
  EXPECT_EQ(ResultTable(state, 1).rows.at(0).at(0).text, "12/2");
  state.experiment.set_goal("minimize");
  EXPECT_EQ(ResultTable(state, 1).rows.at(0).at(0).text, "12/1");
}

}  // namespace
}  // namespace dt::cli
