// insight_test.cc: seeds, importance and the ranges of the best trials, from trials to a report's
// sections.
#include "report/page/insight.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "common/draw.h"
#include "gtest/gtest.h"
#include "report/analysis/parameter_axes.h"
#include "report/analysis/parameter_importance.h"
#include "tests/report/fixture.h"

namespace dt::report {
namespace {

void AssignNumber(v1::TrialSummary& trial, const std::string& path, double value) {
  v1::Assignment& assignment = *trial.add_assignments();
  assignment.set_path(path);
  assignment.mutable_value()->set_number(value);
}

void AssignText(v1::TrialSummary& trial, const std::string& path, const std::string& value) {
  v1::Assignment& assignment = *trial.add_assignments();
  assignment.set_path(path);
  assignment.mutable_value()->set_text(value);
}

// Returns a random search: the logarithm of the learning rate is decisive; the batch size has a
// small effect; the schedule has none.
Experiment Search(size_t trials) {
  Experiment search = NewExperiment(12, "search");
  v1::ExperimentSpec& spec = *search.found.mutable_spec();
  spec.mutable_search()->set_method("random");
  spec.mutable_search()->set_metric("val_loss");
  v1::Parameter& rate = *spec.add_parameters();
  rate.set_path("optimizer.lr");
  rate.mutable_range()->set_min(1e-5);
  rate.mutable_range()->set_max(1e-1);
  rate.mutable_range()->set_scale("log");
  for (uint64_t i = 0; i < trials; ++i) {
    const double exponent = DrawUnit({1, i});
    const int64_t batch = int64_t{8} << static_cast<int>(3 * DrawUnit({2, i}));
    Trial& trial = AddTrial(search, 2 + 4 * std::abs(exponent - 0.5) + 0.01 * batch);
    AssignNumber(trial.summary, "optimizer.lr", std::pow(10, -5 + 4 * exponent));
    Assign(trial.summary, "train.batch_size", batch);
    AssignText(trial.summary, "schedule.type", i % 2 == 0 ? "cosine" : "constant");
  }
  return search;
}

std::string Text(const Document& document) { return MarkdownPage(document); }

TEST(ParameterAxesTest, ARangeHasItsScaleAListItsPlacesAndWordsTheirChoices) {
  const Experiment search = Search(40);
  const std::vector<ParameterAxis> axes = AxesOf(search);
  ASSERT_EQ(axes.size(), 3u);
  EXPECT_EQ(axes[0].scale, Scale::kLog);
  EXPECT_EQ(axes[0].low, 1e-5);
  EXPECT_EQ(axes[1].kind, ParameterAxis::Kind::kOrdered);
  EXPECT_EQ(axes[1].texts, (std::vector<std::string>{"8", "16", "32"})) << "by number";
  EXPECT_EQ(axes[2].kind, ParameterAxis::Kind::kChoice);
  v1::TrialSummary trial;
  AssignNumber(trial, "optimizer.lr", 1e-3);
  Assign(trial, "train.batch_size", 8);
  EXPECT_NEAR(PlaceOf(axes[0], trial), 0.5, 1e-12);
  EXPECT_NEAR(PlaceOf(axes[1], trial), 1.0 / 6, 1e-12);
  EXPECT_TRUE(std::isnan(PlaceOf(axes[2], trial)));
}

TEST(WhatMatteredTest, NamesTheParameterThatDecides) {
  const auto found = AnalyseImportance(Search(120));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(NameOf(*found, found->found.single[0]), "optimizer.lr");
  EXPECT_GT(found->found.single[0].share, 0.8);
  EXPECT_EQ(NameOf(*found, found->found.single[2]), "schedule.type");
  EXPECT_LT(found->found.single[2].share, 0.02);
  EXPECT_EQ(found->measured, "val_loss");
}

TEST(WhatMatteredTest, OrderOfTrialsAndOfParametersInTheFileChangesNothing) {
  Experiment search = Search(60);
  const auto first = AnalyseImportance(search);
  ASSERT_TRUE(first.ok()) << first.status();
  std::reverse(search.trials.begin(), search.trials.end());
  for (Trial& trial : search.trials) {
    std::reverse(trial.summary.mutable_assignments()->begin(),
                 trial.summary.mutable_assignments()->end());
  }
  const auto second = AnalyseImportance(search);
  ASSERT_TRUE(second.ok()) << second.status();
  const auto text = [](const ImportanceFindings& findings) {
    std::string all;
    for (const Json& item : ImportanceItems(findings)) all += item.dump() + "\n";
    return all;
  };
  EXPECT_EQ(text(*first), text(*second));
}

TEST(WhatMatteredTest, TrialsThatFailedAreLeftOutAndCounted) {
  Experiment search = Search(60);
  for (size_t i = 0; i < 10; ++i) RunOutOfMemory(search.trials[i]);
  const auto found = AnalyseImportance(search);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->found.rows, 50u);
  EXPECT_TRUE(Has(ReachText(*found), "from 50 trials; 10 trials without a value are left out."))
      << ReachText(*found);
}

TEST(WhatMatteredTest, MoreIsBetterIfTheGoalIsToMaximize) {
  Experiment search = Search(60);
  search.found.mutable_summary()->set_goal("maximize");
  // Far worse than the others; lower is worse now.
  search.trials[0].summary.set_metric_value(-1e9);
  const auto found = AnalyseImportance(search);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->found.clipped, 1u);
}

// Trials that went on at rung 1 also have a value at rung 2, and a better end.
TEST(WhatMatteredTest, IfRungsEndTrialsAllAreComparedAtOneRung) {
  Experiment search = Search(60);
  v1::Search& said = *search.found.mutable_spec()->mutable_search();
  said.set_method("asha");
  said.mutable_asha()->set_eta(3);
  said.mutable_asha()->set_rungs(2);
  v1::ReadMetricsResponse page;
  std::map<uint32_t, double> at_rung;
  for (Trial& trial : search.trials) {
    trial.summary.set_target_steps(90);
    const uint32_t number = trial.summary.trial();
    at_rung[number] = trial.summary.metric_value() + 3;
    const auto evaluate = [&](uint64_t step, double loss) {
      v1::EvaluationRow& row = *page.add_evaluations();
      row.set_trial(number);
      row.mutable_evaluation()->set_step(step);
      row.mutable_evaluation()->set_split("val");
      row.mutable_evaluation()->set_loss(loss);
    };
    evaluate(10, at_rung[number]);
    evaluate(10, 99);  // an attempt that went back reached the rung again: the first entry counts
    if (number % 3 == 0) {
      evaluate(30, 1);
    } else {
      trial.summary.set_cause(v1::CAUSE_STOPPED_EARLY);
      trial.summary.set_metric_value(number % 2 == 0 ? 9 : 1);  // without information
    }
  }
  Collector collector(search);
  collector.Add(page);
  collector.Finish();
  const auto found = AnalyseImportance(search);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->measured, "val_loss at rung 1 (1/9 of the steps)");
  EXPECT_EQ(found->found.rows, 60u);
  EXPECT_EQ(NameOf(*found, found->found.single[0]), "optimizer.lr");
  EXPECT_GT(found->found.single[0].share, 0.7);
}

TEST(InsightReportTest, ASearchOfTooFewTrialsSaysHowManyAreNeededAndAGridNothing) {
  Experiment search = Search(8);
  Document document;
  AppendImportance(search, document);
  EXPECT_TRUE(Has(Text(document), "Not known: 8 trials have a value, and 12 are needed"))
      << Text(document);
  search.found.mutable_spec()->mutable_search()->set_method("grid");
  Document of_grid;
  AppendImportance(search, of_grid);
  EXPECT_TRUE(of_grid.blocks.empty());
}

TEST(InsightReportTest, ImportanceIsAFigureATableAndItsReliability) {
  Document document;
  AppendImportance(Search(60), document);
  const std::string page = Text(document);
  EXPECT_TRUE(Has(page, "| optimizer.lr | ")) << page;
  EXPECT_TRUE(Has(page, "The model predicts a trial from the others with R² 0.")) << page;
  EXPECT_TRUE(Has(HtmlPage(document), "Share of the variance of val_loss</title>"));
}

TEST(InsightReportTest, TheRangesOfTheBestQuarterAreATable) {
  Document document;
  AppendParallel(Search(40), document);
  const std::string page = Text(document);
  EXPECT_TRUE(Has(page, "Of 40 trials with a value, the best quarter (10)")) << page;
  EXPECT_TRUE(Has(page, "| train.batch_size | 8 … 32 | ")) << page;
  EXPECT_TRUE(Has(page, "constant (")) << page;
}

TEST(InsightReportTest, EveryTrialIsALineAndTheBestStandsOut) {
  Experiment search = Search(200);
  search.trials[7].summary.set_metric_value(1e9);  // diverged: shown at the bottom, without
                                                   // changing the scale of the others
  Document document;
  AppendParallel(search, document);
  const auto& figure = std::get<Figure>(document.blocks.at(0));
  const auto& chart = std::get<ParallelChart>(figure.chart);
  ASSERT_EQ(chart.lines.size(), 200u);
  ASSERT_EQ(chart.columns.size(), 4u);
  EXPECT_EQ(chart.columns[0].scale, "log scale");
  const auto count = [&](ParallelChart::Weight weight) {
    return std::count_if(chart.lines.begin(), chart.lines.end(),
                         [weight](const auto& line) { return line.weight == weight; });
  };
  EXPECT_EQ(count(ParallelChart::Weight::kBest), 1);
  EXPECT_EQ(count(ParallelChart::Weight::kGood), 49);
  EXPECT_EQ(chart.lines.back().weight, ParallelChart::Weight::kBest) << "above the others";
  EXPECT_EQ(chart.lines.back().places.back(), 1) << "the best at the top";
  EXPECT_EQ(chart.lines.front().places.back(), 0);
  EXPECT_TRUE(Has(figure.note, "1 trial is so much worse")) << figure.note;
  // A choice of two has its names at a quarter and at three quarters.
  const auto choice = std::find_if(chart.columns.begin(), chart.columns.end(), [](const auto& one) {
    return one.ticks.size() == 2 && one.ticks[0].place == 0.25;
  });
  ASSERT_NE(choice, chart.columns.end());
  for (const ParallelChart::Line& line : chart.lines) {
    const double place = line.places[static_cast<size_t>(choice - chart.columns.begin())];
    EXPECT_NEAR(std::abs(place - 0.5), 0.25, 0.0601) << "lines meet beside the name";
  }
  for (const ParallelChart::Line& line : chart.lines) {
    for (const double place : line.places) {
      EXPECT_GE(place, 0) << line.name;
      EXPECT_LE(place, 1) << line.name;
    }
  }
}

TEST(InsightReportTest, SeedsAreATableOfMeans) {
  Experiment study = Study();
  Document none;
  AppendSeeds(study, none);
  EXPECT_TRUE(none.blocks.empty()) << "one seed: nothing to say";
  for (Trial& trial : study.trials) {
    trial.summary.mutable_assignments(0)->mutable_value()->set_integer(8);
  }
  Document document;
  AppendSeeds(study, document);
  const std::string page = Text(document);
  EXPECT_TRUE(Has(page, "## Configurations")) << page;
  EXPECT_TRUE(Has(page, "| 12/1, …, 4 | 64 | 2.5000 ± 0.7071 | 2 | 2 of 2 | 12/1: 2.0000 |"))
      << page;
  EXPECT_TRUE(Has(page, "| 12/3, …, 6 | 256 | 5.0000 | 1 | 1 of 2 | 12/3: 5.0000 |")) << page;
}

}  // namespace
}  // namespace dt::report
