// study_test.cc: the layout of a study, its figures, and the numbers in it.
#include "report/page/study.h"

#include <cmath>

#include "gtest/gtest.h"
#include "tests/report/fixture.h"

namespace dt::report {
namespace {

using Rows = std::vector<std::vector<std::string>>;

TEST(ResultTest, PerplexityIsExpOfTheValidationLossAndAnEpochIsTheTrainingData) {
  const Experiment study = Study();
  const Result result = ResultOf(study.trials[0]);
  EXPECT_DOUBLE_EQ(result.val_loss, 2);
  EXPECT_DOUBLE_EQ(result.perplexity, std::exp(2.0));
  EXPECT_DOUBLE_EQ(result.seconds_per_epoch, 5) << "5,000 tokens at 1,000 a second";
  EXPECT_DOUBLE_EQ(result.epochs, 2) << "50 steps of 200 tokens";
}

TEST(ResultTest, NothingIsGuessedIfTheTokensOfAnEpochAreUnknown) {
  Experiment study = Study();
  study.trials[0].summary.set_train_tokens(0);
  const Result result = ResultOf(study.trials[0]);
  EXPECT_TRUE(std::isnan(result.seconds_per_epoch));
  EXPECT_TRUE(std::isnan(result.epochs));
  EXPECT_EQ(StudyGrid(study.trials)->rows[0][1], "2.00 / 7.39 / -");
}

TEST(ResultTest, ARankAloneHasNoShareOfCommunication) {
  Experiment study = Study();
  study.trials[0].summary.set_world_size(1);
  EXPECT_TRUE(std::isnan(ResultOf(study.trials[0]).comm_ratio));
}

TEST(StudyGridTest, HasTheFirstParameterDownAndTheSecondAcross) {
  const auto grid = StudyGrid(Study().trials);
  ASSERT_TRUE(grid.has_value());
  EXPECT_EQ(grid->header,
            (std::vector<std::string>{"train.batch_size ↓, train.seq_len →", "64", "128", "256"}));
  EXPECT_EQ(grid->rows,
            (Rows{{"8", "2.00 / 7.39 / 5.00", "3.00 / 20.09 / 5.00", "5.00 / 148.41 / 5.00"},
                  {"16", "3.00 / 20.09 / 5.00", "4.00 / 54.60 / 5.00", "oom"}}));
}

TEST(StudyGridTest, AWordMarksAnUnfinishedTrialAndAMissingOne) {
  Experiment study = Study();
  study.trials[0].summary.set_state(v1::TRIAL_CANCELLED);
  study.trials[0].summary.set_step(20);
  study.trials[1].summary.set_state(v1::TRIAL_PENDING);
  study.trials[1].summary.set_val_loss(kNan);
  study.trials[1].summary.set_step(0);
  study.trials.erase(study.trials.begin() + 3);
  const auto grid = StudyGrid(study.trials);
  EXPECT_EQ(grid->rows[0][1], "2.00 / 7.39 / 5.00 (cancelled 20/50)");
  EXPECT_EQ(grid->rows[0][2], "pending");
  EXPECT_EQ(grid->rows[1][1], "excluded");
}

TEST(StudyGridTest, AnEarlyStoppedTrialIsMarkedInTheTableAndInNoFigure) {
  Experiment study = Study();
  study.trials[0].summary.set_cause(v1::CAUSE_STOPPED_EARLY);
  study.trials[0].summary.set_step(20);
  EXPECT_EQ(ResultOf(study.trials[0]).outcome, "stopped early 20/50");
  const std::vector<std::string> row = TrialList(study).rows.at(0);
  EXPECT_EQ(row[3], "stopped early") << "its steps are in the next column";
  EXPECT_EQ(row[4], "20/50");
  EXPECT_EQ(StudyGrid(study.trials)->rows[0][1], "2.00 / 7.39 / 5.00 (stopped early 20/50)");
  const auto points_of = [](const std::vector<Figure>& figures) {
    size_t points = 0;
    for (const ChartLine& line : std::get<LineChart>(figures.at(0).chart).lines) {
      points += line.points.size();
    }
    return points;
  };
  EXPECT_EQ(points_of(StudyFigures(study.trials)) + 1, points_of(StudyFigures(Study().trials)));
}

TEST(StudyGridTest, WithSeveralSeedsACellHasTheMeanAndTheDeviation) {
  Experiment study = Study();
  const std::vector<Trial> first = study.trials;
  for (Trial again : first) {
    again.summary.set_trial(again.summary.trial() + 6);
    again.summary.set_val_loss(again.summary.val_loss() + 1);
    study.trials.push_back(std::move(again));
  }
  study.trials[7].summary.set_state(v1::TRIAL_RUNNING);
  const auto grid = StudyGrid(study.trials);
  ASSERT_TRUE(grid.has_value());
  EXPECT_EQ(grid->rows[0][1], "2.50 ± 0.71 / 12.18 / 5.00");
  EXPECT_EQ(grid->rows[0][2], "3.00 / 20.09 / 5.00 (1 of 2 trials)");
  EXPECT_EQ(grid->rows[1][3], "oom");
}

TEST(StudyFiguresTest, WithSeveralSeedsALineGoesThroughMeansAndHasErrorBars) {
  Experiment study = Study();
  for (Trial& trial : study.trials) {
    // The seed is swept as a parameter, as in files from before `seeds` existed.
    Assign(trial.summary, "seed", trial.summary.trial() % 2);
    trial.summary.mutable_assignments(0)->mutable_value()->set_integer(8);
  }
  const std::vector<Figure> figures = StudyFigures(study.trials);
  const auto& chart = std::get<LineChart>(figures.at(0).chart);
  ASSERT_EQ(chart.lines.size(), 1u) << "a seed makes no line of its own";
  ASSERT_EQ(chart.lines[0].points.size(), 3u);
  EXPECT_EQ(chart.lines[0].points[0], (Point{64, 2.5}));
  ASSERT_EQ(chart.lines[0].bars.size(), 2u) << "of the third one trial ran out of memory";
  EXPECT_NEAR(chart.lines[0].bars[0].high - 2.5, std::sqrt(0.5), 1e-12);
  EXPECT_TRUE(Has(figures[0].note, "means over seeds")) << figures[0].note;
}

TEST(StudyGridTest, ValuesDrawnFromRangesMakeNoGrid) {
  Experiment study = Study();
  for (size_t i = 0; i < study.trials.size(); ++i) {
    v1::TrialSummary& summary = study.trials[i].summary;
    for (v1::Assignment& one : *summary.mutable_assignments()) {
      one.mutable_value()->set_number(static_cast<double>(i) + 0.5);
    }
  }
  EXPECT_FALSE(StudyGrid(study.trials).has_value());
}

TEST(StudyGridTest, HasBothPerplexitiesIfTheTrainerReportsThem) {
  Experiment study = Study();
  study.trials[0].newest_evaluation.set_perplexity_mean(8.25);
  const auto grid = StudyGrid(study.trials);
  EXPECT_TRUE(Has(grid->caption, "perplexity / batch-mean perplexity / seconds")) << grid->caption;
  EXPECT_EQ(grid->rows[0][1], "2.00 / 7.39 / 8.25 / 5.00");
  EXPECT_EQ(grid->rows[0][2], "3.00 / 20.09 / - / 5.00");
}

TEST(StudyGridTest, IsForTwoSweptParametersAlone) {
  Experiment study = Study();
  for (Trial& trial : study.trials) Assign(trial.summary, "train.max_steps", 50);
  EXPECT_TRUE(StudyGrid(study.trials).has_value()) << "one value is not swept";
  study.trials[0].summary.mutable_assignments(2)->mutable_value()->set_integer(60);
  EXPECT_FALSE(StudyGrid(study.trials).has_value());
}

TEST(StudyGridTest, TrainingLossIsShownIfNothingWasEvaluated) {
  Experiment study = Study();
  for (Trial& trial : study.trials) trial.summary.set_val_loss(kNan);
  const auto grid = StudyGrid(study.trials);
  EXPECT_TRUE(Has(grid->caption, "training loss"));
  EXPECT_EQ(grid->rows[0][1], "1.50 / - / 5.00");
}

TEST(TrialListTest, HasARowForEachTrialTheBestFirstAndMarked) {
  Experiment study = Study();
  study.trials[0].summary.set_metric_value(9);
  study.trials[0].summary.set_best_val_loss(1.5);
  study.trials[0].summary.set_best_val_step(40);
  study.found.mutable_summary()->set_best_trial(2);
  const TextTable last = TrialList(study);
  EXPECT_EQ(last.rows[4][0], "12/1") << "of those with a result the worst";
  EXPECT_EQ(last.rows[4][7], "1.5000 at 40");
  EXPECT_NE(last.rows[0][0], "12/1");
  ASSERT_LT(last.marked, last.rows.size());
  EXPECT_EQ(last.rows[last.marked][0], "12/2 (best)");

  const TextTable list = TrialList(Study());
  ASSERT_EQ(list.rows.size(), 6u);
  EXPECT_EQ(list.rows[0],
            (std::vector<std::string>{"12/1", "8", "64", "finished", "50/50", "1.5000", "2.0000",
                                      "2.0000", "7.39", "-", "2.00", "5.00", "1.00k"}));
  EXPECT_EQ(list.rows[5][3], "oom");
}

// Returns trials of a program that reports an accuracy and nothing else.
Experiment OfProgram() {
  Experiment study = Study();
  study.found.mutable_spec()->mutable_base()->add_command("./train");
  study.found.mutable_summary()->set_metric("accuracy");
  study.found.mutable_summary()->set_goal("maximize");
  for (size_t i = 0; i < study.trials.size(); ++i) {
    v1::TrialSummary& trial = study.trials[i].summary;
    for (const auto set : {&v1::TrialSummary::set_val_loss, &v1::TrialSummary::set_best_val_loss}) {
      (trial.*set)(kNan);
    }
    trial.clear_latest();
    trial.set_tokens_per_second(0);
    trial.set_train_tokens(0);
    if (trial.state() != v1::TRIAL_FINISHED) continue;
    trial.set_metric_value(0.5 + 0.01 * static_cast<double>(i));
    trial.set_metric_step(40);
  }
  return study;
}

TEST(TrialListTest, AProgramHasNoColumnThatIsAlwaysEmpty) {
  const TextTable list = TrialList(OfProgram());
  EXPECT_EQ(list.header, (std::vector<std::string>{"trial", "train.batch_size", "train.seq_len",
                                                   "outcome", "step", "best", "accuracy"}));
  EXPECT_EQ(list.rows[0], (std::vector<std::string>{"12/5", "16", "128", "finished", "50/50",
                                                    "0.5400 at 40", "0.5400"}));
}

TEST(StudyGridTest, AProgramsCellIsItsMetricAlone) {
  const Experiment study = OfProgram();
  const std::string metric = MetricOfProgram(study);
  EXPECT_EQ(metric, "accuracy");
  const auto grid = StudyGrid(study.trials, metric);
  ASSERT_TRUE(grid.has_value());
  EXPECT_EQ(grid->caption, "accuracy; train.batch_size down, train.seq_len across");
  EXPECT_EQ(grid->rows[0], (std::vector<std::string>{"8", "0.5000", "0.5100", "0.5200"}));
  EXPECT_EQ(grid->rows[1][3], "oom");
  const std::vector<Figure> figures = StudyFigures(study.trials, metric);
  ASSERT_EQ(figures.size(), 1u);
  EXPECT_EQ(std::get<LineChart>(figures[0].chart).y_label, "accuracy");
  EXPECT_EQ(MetricOfProgram(Study()), "");
}

TEST(TrialListTest, HasAColumnForAMetricOfItsOwn) {
  Experiment study = Study();
  study.found.mutable_summary()->set_metric("hellaswag_acc");
  study.found.mutable_summary()->set_goal("maximize");
  for (size_t i = 0; i < study.trials.size(); ++i) {
    study.trials[i].summary.set_metric_value(0.25 + 0.0125 * static_cast<double>(i));
  }
  const TextTable list = TrialList(study);
  EXPECT_EQ(list.header.back(), "hellaswag_acc");
  EXPECT_EQ(list.rows[0].back(), "0.3125") << "the best by that metric is first";
  EXPECT_EQ(list.rows[5].back(), "0.2500");
}

TEST(TrialListTest, HasAColumnForEachOfSeveralObjectivesAndNoneForTheBest) {
  Experiment study = OfProgram();
  for (const char* metric : {"accuracy", "latency_ms"}) {
    study.found.mutable_summary()->add_metrics(metric);
  }
  for (Trial& trial : study.trials) {
    trial.summary.add_objectives(0.5);
    trial.summary.add_objectives(20);
  }
  const TextTable list = TrialList(study);
  EXPECT_EQ(list.header, (std::vector<std::string>{"trial", "train.batch_size", "train.seq_len",
                                                   "outcome", "step", "accuracy", "latency_ms"}));
  const std::vector<std::string>& row = list.rows[0];
  ASSERT_EQ(row.size(), list.header.size());
  EXPECT_EQ(row[5], "0.5000");
  EXPECT_EQ(row[6], "20.0000");
}

TEST(StudyFiguresTest, AreLossAndTimeAgainstSequenceLengthWithALineForEachBatchSize) {
  const std::vector<Figure> figures = StudyFigures(Study().trials);
  ASSERT_EQ(figures.size(), 2u);
  const auto& loss = std::get<LineChart>(figures[0].chart);
  EXPECT_EQ(loss.x_label, "train.seq_len (tokens)");
  ASSERT_EQ(loss.lines.size(), 2u);
  EXPECT_EQ(loss.lines[0].name, "train.batch_size = 8");
  EXPECT_EQ(loss.lines[0].points, (std::vector<Point>{{64, 2}, {128, 3}, {256, 5}}));
  EXPECT_EQ(loss.lines[1].points, (std::vector<Point>{{64, 3}, {128, 4}}));
  EXPECT_EQ(loss.lines[1].floor, std::vector<double>{256});
  const auto& time = std::get<LineChart>(figures[1].chart);
  EXPECT_EQ(time.lines[0].points, (std::vector<Point>{{64, 5}, {128, 5}, {256, 5}}));
}

TEST(StudyFiguresTest, TakeTheNumericParameterWithMoreValuesIfLengthIsNotSwept) {
  Experiment experiment = NewExperiment(12, "depths");
  for (const int64_t width : {64, 128}) {
    for (const int64_t depth : {1, 2, 30}) {
      Trial& trial = AddTrial(experiment, static_cast<double>(depth));
      Assign(trial.summary, "model.n_embd", width);
      Assign(trial.summary, "model.n_layer", depth);
    }
  }
  const std::vector<Figure> figures = StudyFigures(experiment.trials);
  const auto& chart = std::get<LineChart>(figures.at(0).chart);
  EXPECT_EQ(chart.x_label, "model.n_layer");
  EXPECT_EQ(chart.x_scale, Scale::kLog);
  EXPECT_EQ(chart.lines.size(), 2u);
}

TEST(StudyFiguresTest, ValuesDrawnFromRangesArePointsOfOneLineWithoutALegendOfEach) {
  Experiment experiment = NewExperiment(12, "drawn");
  for (int i = 0; i < 6; ++i) {
    Trial& trial = AddTrial(experiment, 2 + i);
    Assign(trial.summary, "train.batch_size", 100 + i);
    Assign(trial.summary, "schedule.warmup_steps", 7 * i);
    if (i > 1) trial.summary.set_cause(v1::CAUSE_STOPPED_EARLY);
  }
  const std::vector<Figure> figures = StudyFigures(experiment.trials);
  ASSERT_FALSE(figures.empty());
  const auto& chart = std::get<LineChart>(figures[0].chart);
  ASSERT_EQ(chart.lines.size(), 1u);
  EXPECT_EQ(chart.lines[0].name, "validation loss");
  EXPECT_TRUE(chart.lines[0].points.empty()) << "nothing to join";
  EXPECT_EQ(chart.lines[0].marks.size(), 2u);
}

TEST(StudyFiguresTest, AreNoneWithoutANumericParameter) {
  Experiment experiment = NewExperiment(12, "norms");
  for (const char* norm : {"pre", "post"}) {
    v1::Assignment& one = *AddTrial(experiment, 2).summary.add_assignments();
    one.set_path("model.norm");
    one.mutable_value()->set_text(norm);
  }
  EXPECT_TRUE(StudyFigures(experiment.trials).empty());
  EXPECT_TRUE(StudyFigures({}).empty());
}

}  // namespace
}  // namespace dt::report
