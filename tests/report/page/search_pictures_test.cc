#include "report/page/search_pictures.h"

#include <algorithm>
#include <cmath>

#include "common/draw.h"
#include "gtest/gtest.h"
#include "report/page/layout.h"
#include "report/page/sections.h"
#include "tests/report/fixture.h"

namespace dt::report {
namespace {

// Returns a search of a program that maximizes its accuracy and reports its latency too.
Experiment TwoMetrics(size_t trials) {
  Experiment search = NewExperiment(12, "search");
  search.found.mutable_summary()->set_metric("accuracy");
  search.found.mutable_summary()->set_goal("maximize");
  search.found.mutable_spec()->mutable_search()->set_metric("accuracy");
  search.found.mutable_spec()->mutable_base()->add_command("./train");
  double best = -1;
  for (uint64_t i = 0; i < trials; ++i) {
    Trial& trial = AddTrial(search, DrawUnit({i, 1}));
    Assign(trial.summary, "depth", static_cast<int64_t>(20 * DrawUnit({i, 2})));
    Assign(trial.summary, "width", static_cast<int64_t>(900 * DrawUnit({i, 3})));
    trial.newest_metrics = {{"accuracy", 0}, {"epoch", 3}, {"latency_ms", 5 + DrawUnit({i, 4})}};
    trial.metric_by_step = {{1, 0}, {2, trial.summary.metric_value()}};
    if (trial.summary.metric_value() <= best) continue;
    best = trial.summary.metric_value();
    search.found.mutable_summary()->set_best_trial(trial.summary.trial());
  }
  return search;
}

using Append = void (*)(const Experiment&, Document&);

const DotChart* ChartIn(const Document& document) {
  for (const Block& block : document.blocks) {
    if (const auto* figure = std::get_if<Figure>(&block)) {
      if (const auto* chart = std::get_if<DotChart>(&figure->chart)) return chart;
    }
  }
  return nullptr;
}

// Returns the chart that `append` adds; one without panels if it adds none.
DotChart ChartOf(Append append, const Experiment& search) {
  Document document;
  append(search, document);
  const DotChart* chart = ChartIn(document);
  EXPECT_NE(chart, nullptr);
  return chart == nullptr ? DotChart() : *chart;
}

TEST(SearchPicturesTest, TheLineOfTheBestSoFarRisesOnlyWhereATrialIsBetter) {
  const DotChart chart = ChartOf(AppendBestSoFar, TwoMetrics(30));
  const DotChart::Panel& panel = chart.panels.at(0);
  EXPECT_EQ(panel.dots.size(), 30u);
  for (const DotChart::Dot& dot : panel.dots) {
    double so_far = -1;  // of the line at this trial
    for (const DotChart::Place& place : panel.line) {
      if (place.x <= dot.x + 1e-9) so_far = std::max(so_far, place.y);
    }
    EXPECT_LE(dot.y, so_far + 1e-9) << "no dot is above the line";
  }
  for (size_t i = 1; i < panel.line.size(); ++i) {
    EXPECT_GE(panel.line[i].y, panel.line[i - 1].y);
    EXPECT_GE(panel.line[i].x, panel.line[i - 1].x);
  }
}

TEST(SearchPicturesTest, ATrialThatARungStoppedIsNotTheBestSoFar) {
  Experiment search = TwoMetrics(3);
  search.found.mutable_spec()->mutable_search()->set_method("asha");
  for (size_t i = 0; i < 3; ++i) search.trials[i].summary.set_metric_value(0.9 - 0.1 * i);
  search.trials[0].summary.set_cause(v1::CAUSE_STOPPED_EARLY);
  const DotChart chart = ChartOf(AppendBestSoFar, search);
  EXPECT_NEAR(chart.panels.at(0).line.at(0).x, 2.0 / 3, 1e-9)
      << "the second trial is the first that counts";
}

TEST(SearchPicturesTest, AnInfeasibleTrialIsNeitherTheBestSoFarNorInTheBestQuarter) {
  Experiment search = TwoMetrics(16);
  search.found.mutable_spec()->mutable_search()->set_method("asha");
  for (size_t i = 0; i < 16; ++i) {
    v1::TrialSummary& trial = search.trials[i].summary;
    trial.set_metric_value(0.01 * i);
    if (i < 8) trial.set_cause(v1::CAUSE_STOPPED_EARLY);
    if (i >= 8) trial.set_infeasible("latency_ms is 30, above 20");
  }
  search.found.mutable_summary()->set_best_trial(8);
  const DotChart chart = ChartOf(AppendBestSoFar, search);
  const DotChart::Panel& panel = chart.panels.at(0);
  const auto good = std::count_if(panel.dots.begin(), panel.dots.end(), [](const auto& dot) {
    return dot.weight == DotChart::Weight::kGood;
  });
  EXPECT_EQ(good, 1) << "a quarter of the eight that count, without the best";
  EXPECT_FALSE(panel.line.empty()) << "all that count were stopped early, so they are compared";
}

TEST(SearchPicturesTest, SlicesHaveAPanelForEachParameterAndShadesByNumber) {
  const DotChart chart = ChartOf(AppendSlices, TwoMetrics(12));
  ASSERT_EQ(chart.panels.size(), 2u);
  EXPECT_EQ(chart.panels[0].x.name, "depth");
  EXPECT_EQ(chart.panels[1].x.name, "width");
  for (const DotChart::Panel& panel : chart.panels) {
    ASSERT_EQ(panel.dots.size(), 12u);
    for (size_t i = 0; i < 12; ++i) EXPECT_NEAR(panel.dots[i].shade, i / 11.0, 1e-9);
  }
  EXPECT_EQ(chart.pale_name, "trial 1");
  EXPECT_EQ(chart.full_name, "trial 12");
}

TEST(SearchPicturesTest, TheFieldOfAContourStaysWithinTheTrialsValues) {
  const DotChart chart = ChartOf(AppendContour, TwoMetrics(20));
  const DotChart::Panel& panel = chart.panels.at(0);
  EXPECT_EQ(panel.dots.size(), 20u);
  EXPECT_TRUE(panel.field.larger_is_better);
  EXPECT_GT(panel.field.levels.size(), 2u);
  for (const double value : panel.field.values) {
    if (std::isnan(value)) continue;
    EXPECT_TRUE(value >= 0 && value <= 1) << value;
  }
  Document document;
  AppendContour(TwoMetrics(3), document);
  EXPECT_TRUE(document.blocks.empty()) << "three trials make no field";
}

TEST(SearchPicturesTest, TheFrontIsOfTheFirstOtherMetricElseOfTheTimeInTraining) {
  Experiment search = TwoMetrics(25);
  Document document;
  AppendFront(search, document);
  const std::string text = MarkdownPage(document);
  EXPECT_TRUE(Has(text, "latency\\_ms") || Has(text, "latency_ms")) << text;
  EXPECT_TRUE(Has(text, "of 25 trials on the front")) << text;
  EXPECT_EQ(ChartIn(document)->title, "Pareto front: maximize accuracy, minimize latency_ms");
  for (Trial& trial : search.trials) trial.newest_metrics.back().first = "recall";
  EXPECT_EQ(ChartOf(AppendFront, search).title, "Pareto front: maximize accuracy, maximize recall");
  for (Trial& trial : search.trials) {
    trial.newest_metrics.resize(2);
    trial.summary.set_training_seconds(10.0 * trial.summary.trial());
  }
  EXPECT_EQ(ChartOf(AppendFront, search).title,
            "Pareto front: maximize accuracy, minimize training seconds");
  for (Trial& trial : search.trials) trial.summary.clear_training_seconds();
  document.blocks.clear();
  AppendFront(search, document);
  EXPECT_TRUE(document.blocks.empty());
}

TEST(SearchPicturesTest, AReportHasTheOrderOfThePage) {
  const std::vector<std::string>& layout = Layout();
  std::vector<std::string> headings;
  for (const Block& block : ExperimentReport(TwoMetrics(20)).blocks) {
    const auto* heading = std::get_if<Heading>(&block);
    if (heading == nullptr) continue;
    const bool listed = std::find(layout.begin(), layout.end(), heading->text) != layout.end();
    if (listed) headings.push_back(heading->text);
  }
  std::vector<std::string> wanted = layout;
  std::erase(wanted, "Scatter plot");
  std::erase(wanted, "Timeline");
  EXPECT_EQ(headings, wanted);
  EXPECT_EQ(wanted.size() + 2, layout.size()) << "of the page alone are two";
}

TEST(SearchPicturesTest, APictureWithoutContentHasNoHeading) {
  const std::string text = MarkdownPage(ExperimentReport(TwoMetrics(1)));
  EXPECT_TRUE(Has(text, "## Trials")) << text;
  for (const char* name : {"Best so far", "Slices", "Contour", "Parallel coordinates"}) {
    EXPECT_FALSE(Has(text, std::string("## ") + name)) << text;
  }
}

}  // namespace
}  // namespace dt::report
