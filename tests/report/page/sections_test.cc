// sections_test.cc: the complete report, of one experiment and of two, and its CSV.
#include "report/page/sections.h"

#include <algorithm>

#include "gtest/gtest.h"
#include "report/page/compare.h"
#include "report/page/results_csv.h"
#include "report/page/study.h"
#include "spec/spec.h"
#include "tests/report/fixture.h"

namespace dt::report {
namespace {

Experiment StudyWithRows() {
  Experiment study = Study();
  study.found.set_file_name("study.yaml");
  study.found.set_file_text("version: 1\nname: study  # as written\n");
  study.found.mutable_summary()->set_finished(5);
  study.found.mutable_summary()->set_failed(1);
  study.found.mutable_summary()->set_oom(1);
  study.found.mutable_summary()->set_best_trial(1);
  study.found.mutable_summary()->set_best_value(2);
  v1::Provenance& from = *study.trials[0].summary.mutable_provenance();
  from.set_program_version("0.1.0");
  from.set_program_revision("abc123");
  from.set_torch_version("2.11.0");
  study.trials[0].summary.set_data_fingerprint("f00d");
  v1::AttemptSummary& attempt = study.trials[5].attempts.emplace_back();
  attempt.set_attempt(1);
  attempt.set_cause(v1::CAUSE_OOM);
  attempt.set_message("1.2 GiB more were needed");
  attempt.set_ended_wall_ms(1700000050000);
  v1::ReadMetricsResponse page;
  for (uint32_t trial = 1; trial <= 5; ++trial) {
    for (uint64_t step = 1; step <= 50; ++step) AddRow(page, trial, step, 5.0 / step);
  }
  Collector collector(study);
  collector.Add(page);
  collector.Finish();
  return study;
}

TEST(ExperimentReportTest, HasHeadResultsFiguresConfigurationAndAttempts) {
  const std::string page = HtmlPage(ExperimentReport(StudyWithRows()));
  for (const char* text :
       {"study: experiment 12", "5 of 6 trials finished, 1 failed: oom",
        "12/1  batch_size=8 seq_len=64: val_loss 2.0000", "2023-11-14 22:14:50 UTC",
        "2.00 / 7.39 / 5.00", ">validation loss against train.seq_len</title>",
        ">seconds per epoch against train.seq_len</title>", ">Loss over steps</title>",
        ">Loss over time</title>", ">Time of an optimizer step</title>",
        "Perplexity is exp(validation loss)", "name: study  # as written", "0.1.0 (abc123)", "f00d",
        "1.2 GiB more were needed"}) {
    EXPECT_TRUE(Has(page, text)) << text;
  }
}

TEST(ExperimentReportTest, WithSeveralSeedsACurveIsAConfigurationsMeanWithABand) {
  Experiment study = StudyWithRows();
  for (Trial& trial : study.trials) {
    Assign(trial.summary, "seed", trial.summary.trial() <= 3 ? 1 : 2);
    trial.summary.mutable_assignments(0)->mutable_value()->set_integer(8);
  }
  const Document document = ExperimentReport(study);
  const LineChart* curves = nullptr;
  for (const Block& block : document.blocks) {
    const auto* figure = std::get_if<Figure>(&block);
    const auto* lines = figure == nullptr ? nullptr : std::get_if<LineChart>(&figure->chart);
    if (lines != nullptr && lines->title == "Loss over steps") curves = lines;
  }
  ASSERT_NE(curves, nullptr);
  ASSERT_EQ(curves->lines.size(), 3u) << "of six trials two each differ in their seed alone";
  EXPECT_EQ(curves->lines[0].name, "12/1, …, 4  batch_size=8 seq_len=64");
  EXPECT_EQ(curves->lines[0].points.size(), 50u);
  EXPECT_EQ(curves->lines[0].band.size(), 50u);
  EXPECT_TRUE(curves->lines[2].band.empty()) << "of the third one trial has no rows";
  EXPECT_TRUE(Has(HtmlPage(document), "<path class=\"f0 s\""));
}

TEST(ExperimentReportTest, MarkdownHasTheSameTables) {
  const std::string page = MarkdownPage(ExperimentReport(StudyWithRows()));
  EXPECT_TRUE(Has(page, "| 16 | 3.00 / 20.09 / 5.00 | 4.00 / 54.60 / 5.00 | oom |\n")) << page;
  EXPECT_TRUE(Has(page, "| 12/6 | 16 | 256 | oom |"));
  EXPECT_TRUE(Has(page, "name: study  # as written"));
}

TEST(ExperimentReportTest, TheSameDataGivesTheSameBytes) {
  EXPECT_EQ(HtmlPage(ExperimentReport(StudyWithRows())),
            HtmlPage(ExperimentReport(StudyWithRows())));
}

TEST(ExperimentReportTest, AnExperimentThatHasNotBegunHasAReport) {
  Experiment experiment = NewExperiment(3, "<script>x</script>|");
  EXPECT_FALSE(Has(HtmlPage(ExperimentReport(experiment)), "<script"));
  AddTrial(experiment, kNan).summary.set_state(v1::TRIAL_PENDING);
  EXPECT_TRUE(Has(MarkdownPage(ExperimentReport(experiment)), "pending"));
}

TEST(ExperimentReportTest, LossIsDrawnOverTokensIfStepsDifferInTokens) {
  Experiment study = StudyWithRows();
  EXPECT_FALSE(Has(HtmlPage(ExperimentReport(study)), ">Loss over tokens</title>"));
  study.trials[1].summary.set_tokens_per_step(400);
  EXPECT_TRUE(Has(HtmlPage(ExperimentReport(study)), ">Loss over tokens</title>"));
}

TEST(ResultsCsvTest, AParameterNamedLikeABuiltInColumnHasItsOwnColumn) {
  Experiment experiment = NewExperiment(12, "hostile");
  Trial& trial = experiment.trials.emplace_back();
  trial.summary.set_experiment(12);
  trial.summary.set_trial(3);
  trial.summary.set_state(v1::TRIAL_PENDING);
  for (const char* path : {"state", "trial", "parameters.state", "width"}) {
    Assign(trial.summary, path, 77);
    v1::Parameter& parameter = *experiment.found.mutable_spec()->add_parameters();
    parameter.set_path(path);
    parameter.add_values()->set_integer(77);
  }
  *experiment.found.mutable_spec()->mutable_base() = spec::DefaultSpec();
  experiment.found.mutable_spec()->mutable_base()->add_command("true");
  const std::string csv = ResultsCsv({experiment});
  const std::string head = csv.substr(0, csv.find('\n'));
  EXPECT_EQ(head.substr(0, head.find(",outcome")),
            "experiment,name,trial,parameters.state,parameters.trial,parameters.parameters.state,"
            "width,state");
  EXPECT_TRUE(Has(csv, "\n12,hostile,3,77,77,77,77,pending,")) << csv;
}

TEST(TrialListTest, AParameterNamedLikeABuiltInColumnIsDistinguished) {
  Experiment experiment = Study();
  int64_t value = 0;
  for (Trial& trial : experiment.trials) Assign(trial.summary, "loss", ++value);
  const std::vector<std::string> header = TrialList(experiment).header;
  EXPECT_EQ(std::count(header.begin(), header.end(), "loss"), 1);
  EXPECT_EQ(std::count(header.begin(), header.end(), "parameters.loss"), 1);
}

TEST(ResultsCsvTest, HasARowForEachTrialAndEmptyCellsForUnknownValues) {
  const std::string csv = ResultsCsv({StudyWithRows()});
  EXPECT_EQ(
      csv.substr(0, csv.find('\n')),
      "experiment,name,trial,train.batch_size,train.seq_len,state,outcome,steps,target_steps,"
      "attempts,ranks,loss,val_loss,best_val_loss,best_val_step,perplexity,perplexity_batch_mean,"
      "hellaswag_acc,hellaswag_acc_norm,epochs,"
      "seconds_per_epoch,"
      "tokens_per_second,comm_share,comm_exposed_share,data_seconds,forward_seconds,"
      "backward_seconds,comm_exposed_seconds,optimizer_seconds,other_seconds,"
      "comm_seconds,model_parameters,seed,configuration,metric_value,metric_step");
  EXPECT_TRUE(Has(csv, "\n12,study,1,8,64,finished,finished,50,50,0,2,1.5,2.0,2.0,,7.38"));
  EXPECT_TRUE(Has(csv, "\n12,study,6,16,256,failed,oom,"));
  EXPECT_FALSE(Has(csv, "nan"));
}

TEST(ResultsCsvTest, ProgramsHaveTheirMetricAndNoColumnThatIsAlwaysEmpty) {
  Experiment study = Study();
  study.found.mutable_spec()->mutable_base()->add_command("./train");
  for (Trial& trial : study.trials) {
    v1::TrialSummary told;
    told.set_trial(trial.summary.trial());
    told.set_val_loss(kNan);
    told.set_best_val_loss(kNan);
    told.set_metric_value(0.5);
    told.set_metric_step(7);
    trial.summary = told;
  }
  const std::string csv = ResultsCsv({study});
  EXPECT_EQ(csv.substr(0, csv.find('\n')),
            "experiment,name,trial,state,outcome,steps,attempts,ranks,seed,configuration,"
            "metric_value,metric_step");
  EXPECT_TRUE(Has(csv, ",0.5,7\n")) << csv;
}

TEST(MatchTrialsTest, PairsEqualParametersInAnyOrder) {
  const Experiment a = Study(12);
  Experiment b = NewExperiment(13, "again");
  Trial& reversed = AddTrial(b, 1.5);
  Assign(reversed.summary, "train.seq_len", 64);
  Assign(reversed.summary, "train.batch_size", 8);
  Assign(AddTrial(b, 9).summary, "train.seq_len", 4096);
  const std::vector<Experiment> both = {a, b};
  const std::vector<TrialGroup> groups = MatchTrials(both);
  ASSERT_EQ(groups.size(), 7u);
  EXPECT_EQ(groups[0], (TrialGroup{&both[0].trials[0], &both[1].trials[0]}));
  EXPECT_EQ(groups[1][1], nullptr);
  EXPECT_EQ(groups[6], (TrialGroup{nullptr, &both[1].trials[1]}));
}

TEST(MatchTrialsTest, AValueThatIsSweptHerePairsWithTheSameValueFixedThere) {
  std::vector<Experiment> three = {Study(12), NewExperiment(13, "fixed"), Study(14)};
  three[1].found.mutable_spec()->mutable_base()->mutable_train()->set_batch_size(16);
  three[1].found.mutable_spec()->mutable_base()->mutable_train()->set_seq_len(128);
  AddTrial(three[1], 1.5);
  const std::vector<TrialGroup> groups = MatchTrials(three);
  ASSERT_EQ(groups.size(), 6u);
  EXPECT_EQ(groups[4], (TrialGroup{&three[0].trials[4], &three[1].trials[0], &three[2].trials[4]}));
  EXPECT_EQ(groups[0], (TrialGroup{&three[0].trials[0], nullptr, &three[2].trials[0]}));
}

TEST(CompareReportTest, PutsAnyNumberOfExperimentsSideBySide) {
  Experiment better = Study(14);
  better.trials[0].summary.set_val_loss(1.5);
  const std::string page = MarkdownPage(CompareReport({Study(12), Study(13), better}));
  EXPECT_TRUE(Has(page, "# Experiments 12, 13 and 14 compared"));
  EXPECT_TRUE(Has(page, "loss, 12 | loss, 13 | loss, 14 | difference, 13 | difference, 14 |"))
      << page;
  EXPECT_TRUE(Has(page, "| 2.0000 | 2.0000 | 1.5000 | +0.0000 | -0.5000 |")) << page;
}

TEST(CompareReportTest, OverlaysTheBestIfNoTrialsAreAlike) {
  const Experiment a = StudyWithRows();
  Experiment b = StudyWithRows();
  b.found.mutable_summary()->set_experiment(13);
  for (Trial& trial : b.trials) {
    trial.summary.set_experiment(13);
    Assign(trial.summary, "train.max_steps", 77);
  }
  const std::string page = HtmlPage(CompareReport({a, b}));
  EXPECT_TRUE(Has(page, "the best of each experiment is drawn"));
  EXPECT_TRUE(Has(page, ">Training loss over steps</title>"));
}

TEST(CompareReportTest, PutsTrialsSideBySideWithTheDifference) {
  const Experiment a = Study(12);
  Experiment b = Study(13);
  b.trials[0].summary.set_val_loss(1.75);
  b.trials[0].summary.set_tokens_per_second(1100);
  b.trials.pop_back();
  const std::string page = MarkdownPage(CompareReport({a, b}));
  EXPECT_TRUE(Has(page,
                  "| batch_size=8 seq_len=64 | 12/1: finished | 13/1: finished | 2.0000 | 1.7500 | "
                  "-0.2500 | 7.39 | 5.75 | -22.1% |\n"))
      << page;
  EXPECT_TRUE(
      Has(page, "| batch_size=8 seq_len=64 | 5.00 | 4.55 | -9.1% | 1.00k | 1.10k | +10.0% |\n"))
      << page;
  EXPECT_TRUE(Has(page, "\n## Configuration of experiment 13\n"));
  EXPECT_TRUE(Has(page, "| batch_size=16 seq_len=256 | 12/6: oom | - | - | - | - |")) << page;
}

TEST(CompareReportTest, DrawsCompletePairsInOneColourEach) {
  const Experiment a = StudyWithRows();
  Experiment b = StudyWithRows();
  b.found.mutable_summary()->set_experiment(13);
  for (Trial& trial : b.trials) trial.summary.set_experiment(13);
  b.trials.erase(b.trials.begin());
  const std::string page = HtmlPage(CompareReport({a, b}));
  EXPECT_TRUE(Has(page, ">12/2  batch_size=8 seq_len=128</text>"));
  EXPECT_TRUE(Has(page, ">13/2  batch_size=8 seq_len=128</text>"));
  EXPECT_FALSE(Has(page, ">12/1  batch_size=8 seq_len=64</text>")) << "has no partner";
}

}  // namespace
}  // namespace dt::report
