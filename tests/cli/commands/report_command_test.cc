// report_command_test.cc: dtctl report and dtctl plot against a fake coordinator.
#include <cmath>

#include "tests/cli/commands/fixture.h"
#include "tests/testing/temp_folder.h"

namespace dt::cli {
namespace {

class ReportCommandTest : public CommandTest {
 protected:
  // Adds two finished trials of 30 logged steps, which fill several pages of every list.
  void AddStudy(uint64_t id) {
    AddExperiment(id, 2);
    control_.Edit([&](FakeControl::World& world) {
      world.page_limit = 7;
      FinishAll(world, id);
      FakeControl::Experiment& one = world.experiments.at(id);
      for (v1::TrialSummary& trial : one.trials) {
        trial.set_attempts(1);
        trial.set_tokens_per_second(1000);
        trial.set_train_tokens(5000);
        trial.set_started_wall_ms(1700000000000);
        v1::ExplainTrialResponse& found = one.explanations[trial.trial()];
        *found.mutable_trial() = trial;
        v1::AttemptSummary& attempt = *found.add_attempts();
        attempt.set_attempt(1);
        attempt.set_cause(v1::CAUSE_FINISHED);
        attempt.set_ended_wall_ms(1700000080000);
        for (uint64_t step = 1; step <= 30; ++step) {
          v1::MetricRow& row = one.rows.emplace_back();
          row.set_trial(trial.trial());
          row.set_attempt(1);
          row.mutable_row()->set_step(step);
          row.mutable_row()->set_loss(trial.trial() + 3.0 / static_cast<double>(step));
          row.mutable_row()->set_wall_time_ms(1700000000000 + static_cast<int64_t>(step) * 100);
        }
      }
    });
  }

  testing::TempFolder folder_;
};

TEST_F(ReportCommandTest, TheFilesExtensionChoosesTheFormat) {
  AddStudy(12);
  for (const auto& [name, begin] : std::map<std::string, std::string>{
           {"report.html", "<!DOCTYPE html>"},
           {"report.md", "# quickstart: experiment 12\n"},
           {"results.csv", "experiment,name,trial,train.batch_size,state"}}) {
    const Ran ran = Run({"report", "12", "-o", folder_ / name});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.out, "");
    EXPECT_TRUE(Has(ran.err, name)) << ran.err;
    const std::string text = testing::Slurp(folder_ / name);
    EXPECT_EQ(text.substr(0, begin.size()), begin);
  }
}

TEST_F(ReportCommandTest, TakeoversInAPopulationAreListed) {
  AddStudy(12);
  control_.Edit([](FakeControl::World& world) {
    v1::Takeover& takeover = *world.experiments[12].explanations[2].add_takeovers();
    takeover.set_from_trial(1);
    takeover.set_share(3);
    takeover.set_step(30);
  });
  const std::string page = Run({"report", "12"}).out;
  EXPECT_TRUE(Has(page, "| 12/2 | 12/1 |  | 3 | 30 |")) << page;
}

TEST_F(ReportCommandTest, EveryPageOfRowsIsInTheFigures) {
  AddStudy(12);
  const std::string page = Run({"report", "last", "--format", "html"}).out;
  EXPECT_TRUE(Has(page, "at most 30 of up to 30 logged points")) << page;
  EXPECT_TRUE(Has(page, "12/2#1"));
  EXPECT_TRUE(Has(page, "12/2  batch_size=16"));
}

TEST_F(ReportCommandTest, WithoutAFileMarkdownGoesToStdout) {
  AddStudy(12);
  const Ran ran = Run({"report", "12"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_TRUE(Has(ran.out, "| 12/1 (best) | 8 | finished | 200/200 |")) << ran.out;
  EXPECT_EQ(Run({"report", "12", "-o", "-"}).out, ran.out);
  EXPECT_TRUE(Has(Run({"report", "12", "--format", "csv"}).out, "experiment,name,trial"));
}

TEST_F(ReportCommandTest, TwoExperimentsAreComparedAndInOneCsv) {
  AddStudy(12);
  AddStudy(13);
  EXPECT_TRUE(
      Has(Run({"report", "12", "13"}).out,
          "| batch_size=8 | 12/1: finished | 13/1: finished | 3.0000 | 3.0000 | +0.0000 |"));
  EXPECT_TRUE(Has(Run({"report", "12", "13", "--format", "csv"}).out, "\n13,quickstart,2,"));
}

TEST_F(ReportCommandTest, MoreExperimentsThanHaveRoomSideBySideAreRefusedWithTheLimit) {
  const Ran ran = Run({"report", "1", "2", "3", "4", "5", "6", "7", "8", "9"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(Has(ran.err, "'dtctl report' takes at most 8 EXP, not 9")) << ran.err;
}

TEST_F(ReportCommandTest, AFileWithAnUnknownExtensionOrThatCannotBeWrittenIsRefused) {
  AddStudy(12);
  const Ran unknown = Run({"report", "12", "-o", folder_ / "report.pdf"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_TRUE(Has(unknown.err, "end in .html, .md or .csv")) << unknown.err;
  EXPECT_EQ(Run({"report", "12", "--format", "pdf"}).code, 2);
  const Ran nowhere = Run({"report", "12", "-o", folder_ / "none/report.md"});
  EXPECT_EQ(nowhere.code, 2);
  EXPECT_TRUE(Has(nowhere.err, "No such file or directory")) << nowhere.err;
  EXPECT_EQ(Run({"report", "99"}).code, 4);
  EXPECT_EQ(Run({"report", "12/1"}).code, 2);
}

TEST_F(ReportCommandTest, PlotDrawsTheTrialsWithAMarkerEach) {
  AddStudy(12);
  const Ran ran = Run({"plot", "12"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(Has(ran.out, "● 12/1  batch_size=8  last 1.1000")) << ran.out;
  EXPECT_TRUE(Has(ran.out, "▲ 12/2  batch_size=16  last 2.1000"));
  EXPECT_TRUE(Has(ran.out, "loss of experiment 12, quickstart"));
}

TEST_F(ReportCommandTest, PlotDrawsTheNamedTrialsAlone) {
  AddStudy(12);
  EXPECT_FALSE(Has(Run({"plot", "12/2"}).out, "12/1"));
  EXPECT_FALSE(Has(Run({"plot", "last/2"}).out, "12/1"));
  const Ran missing = Run({"plot", "12/7"});
  EXPECT_EQ(missing.code, 4);
  EXPECT_TRUE(Has(missing.err, "there is no trial 12/7")) << missing.err;
}

TEST_F(ReportCommandTest, PlotDrawsTheSeedsOfAConfigurationAsTheirMeanAndANamedOneAlone) {
  AddStudy(12);
  control_.Edit([](FakeControl::World& world) {
    for (v1::TrialSummary& trial : world.experiments.at(12).trials) {
      trial.clear_assignments();
      v1::Assignment& seed = *trial.add_assignments();
      seed.set_path("seed");
      seed.mutable_value()->set_integer(trial.trial());
    }
  });
  const Ran ran = Run({"plot", "12"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(Has(ran.out, "⠒ 12/1…2  last 1.6000 ± 0.7071")) << ran.out;
  EXPECT_TRUE(Has(ran.out, "░ one standard deviation around a mean")) << ran.out;
  EXPECT_FALSE(Has(Run({"plot", "12/1", "12/2"}).out, "░"));
}

TEST_F(ReportCommandTest, PlotTakesSeveralExperimentsAsReportDoes) {
  AddStudy(12);
  AddStudy(13);
  const Ran ran = Run({"plot", "12", "13"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(Has(ran.out, "loss of experiments 12, quickstart; 13, quickstart")) << ran.out;
  for (const char* name : {" 12/1 ", " 12/2 ", " 13/1 ", " 13/2 "}) {
    EXPECT_TRUE(Has(ran.out, name)) << ran.out;
  }
  EXPECT_FALSE(Has(Run({"plot", "12/1", "13/2"}).out, "12/2"));
}

TEST_F(ReportCommandTest, PlotUsesAsciiIfTheTerminalHasNoMore) {
  AddStudy(12);
  environment_["TERM"] = "dumb";
  EXPECT_TRUE(Has(Run({"plot", "12"}).out, "\no 12/1  batch_size=8"));
  environment_ = {{"TERM", "xterm"}, {"LANG", "C"}};
  EXPECT_TRUE(Has(Run({"plot", "12"}).out, "\no 12/1  batch_size=8"));
}

TEST_F(ReportCommandTest, PlotAndReportDrawAProgramsOwnMetrics) {
  AddStudy(12);
  control_.Edit([](FakeControl::World& world) {
    world.page_limit = 100;
    FakeControl::Experiment& one = world.experiments.at(12);
    one.found.mutable_summary()->set_metric("accuracy");
    one.found.mutable_spec()->mutable_search()->set_metric("accuracy");
    for (const uint64_t step : {50, 100}) {
      v1::EvaluationRow& row = one.evaluations.emplace_back();
      row.set_trial(1);
      row.set_attempt(1);
      row.mutable_evaluation()->set_step(step);
      row.mutable_evaluation()->set_split("val");
      row.mutable_evaluation()->set_loss(std::nan(""));
      v1::Metric& metric = *row.mutable_evaluation()->add_metrics();
      metric.set_name("accuracy");
      metric.set_value(static_cast<double>(step) / 200);
    }
  });
  const Ran plot = Run({"plot", "12/1", "--metric", "accuracy"});
  EXPECT_EQ(plot.code, 0) << plot.err;
  EXPECT_TRUE(Has(plot.out, "accuracy of experiment 12, quickstart")) << plot.out;
  const std::string report = Run({"report", "12", "--format", "html"}).out;
  EXPECT_TRUE(Has(report, "accuracy over steps")) << report;
  const std::string other = Run({"plot", "12/1", "--metric", "acuracy"}).err;
  EXPECT_TRUE(Has(other, "did you mean 'accuracy'?")) << other;
}

TEST_F(ReportCommandTest, PlotSaysWhenThereIsNothingToDrawAndWhenAMetricIsUnknown) {
  AddExperiment(12, 2);
  const Ran empty = Run({"plot", "12", "--metric", "val_loss"});
  EXPECT_EQ(empty.code, 0);
  EXPECT_EQ(empty.out, "");
  EXPECT_TRUE(Has(empty.err, "no values of val_loss yet")) << empty.err;
  const Ran unknown = Run({"plot", "12", "--metric", "losss"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_TRUE(Has(unknown.err, "did you mean 'loss'?")) << unknown.err;
}

}  // namespace
}  // namespace dt::cli
