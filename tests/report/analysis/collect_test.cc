// collect_test.cc: pages of rows become curves and means.
#include "report/analysis/collect.h"

#include <algorithm>

#include "gtest/gtest.h"
#include "tests/report/fixture.h"

namespace dt::report {
namespace {

TEST(ThinTest, KeepsEndsAndExtremesWithinTheLimit) {
  std::vector<Point> points;
  for (int i = 0; i < 10000; ++i) points.push_back({static_cast<double>(i), 1});
  points[4321].y = 99;
  points[7777].y = -99;
  const std::vector<Point> thin = Thin(points, 100);
  EXPECT_LE(thin.size(), 100u);
  EXPECT_EQ(thin.front(), points.front());
  EXPECT_EQ(thin.back(), points.back());
  EXPECT_EQ(std::count(thin.begin(), thin.end(), Point{4321, 99}), 1);
  EXPECT_EQ(std::count(thin.begin(), thin.end(), Point{7777, -99}), 1);
  EXPECT_TRUE(std::is_sorted(thin.begin(), thin.end(),
                             [](const Point& a, const Point& b) { return a.x < b.x; }));
}

TEST(ThinTest, LeavesAShortLineAsItIs) {
  const std::vector<Point> points = {{1, 2}, {2, 3}};
  EXPECT_EQ(Thin(points, 4), points);
  EXPECT_TRUE(Thin({}, 4).empty());
}

TEST(MeansTest, ShowTheTrendOfANoisyLine) {
  std::vector<Point> points;
  for (int i = 0; i < 1000; ++i) points.push_back({i + 0.5, i % 2 == 0 ? 4.0 : 2.0});
  const std::vector<Point> means = Means(points, 2);
  ASSERT_EQ(means.size(), 2u);
  EXPECT_NEAR(means[0].x, 250, 1e-9);
  EXPECT_NEAR(means[1].y, 3, 1e-9);
  EXPECT_EQ(Means({{1, 2}}, 2), (std::vector<Point>{{1, 2}}));
}

TEST(CollectorTest, TakesEachTrialsRowsOverPages) {
  Experiment experiment = Study();
  v1::ReadMetricsResponse first;
  AddRow(first, 1, 1, 4);
  AddRow(first, 1, 2, 3);
  AddEvaluation(first, 1, 3, 2.5);
  AddEvaluation(first, 2, 1, 5.5);
  v1::ReadMetricsResponse second;
  AddRow(second, 1, 4, 2);
  AddRow(second, 2, 1, 6);
  AddRow(second, 99, 1, 6);
  Collector collector(experiment);
  collector.Add(first);
  collector.Add(second);
  collector.Finish();
  const Trial& one = experiment.trials[0];
  EXPECT_EQ(one.logged, 3u);
  EXPECT_EQ(one.loss_by_step, (std::vector<Point>{{1, 4}, {2, 3}, {4, 2}}));
  EXPECT_EQ(one.loss_by_time, (std::vector<Point>{{0.5, 4}, {1, 3}, {1.5, 2}}));
  EXPECT_EQ(one.loss_by_tokens, (std::vector<Point>{{200, 4}, {400, 3}, {800, 2}}));
  EXPECT_EQ(one.val_by_tokens, (std::vector<Point>{{600, 2.5}}));
  EXPECT_EQ(one.val_by_step, (std::vector<Point>{{3, 2.5}}));
  EXPECT_EQ(one.val_by_time, (std::vector<Point>{{1, 2.5}})) << "the time of step 2";
  EXPECT_EQ(one.phase_seconds[1], 0.25);
  EXPECT_EQ(experiment.trials[1].loss_by_step, (std::vector<Point>{{1, 6}}));
  EXPECT_EQ(experiment.trials[1].val_by_step, (std::vector<Point>{{1, 5.5}}));
  EXPECT_EQ(experiment.trials[2].logged, 0u);
}

TEST(CollectorTest, TimeIsTrainingTimeWithoutTheWaitBetweenAttempts) {
  Experiment experiment = Study();
  v1::ReadMetricsResponse page;
  for (uint64_t step = 1; step <= 4; ++step) {
    AddRow(page, 1, step, 4);
    if (step < 3) continue;
    v1::MetricRow& row = *page.mutable_rows(static_cast<int>(step) - 1);
    row.set_attempt(2);
    row.mutable_row()->set_wall_time_ms(row.row().wall_time_ms() + 3600'000);
  }
  Collector collector(experiment);
  collector.Add(page);
  collector.Finish();
  EXPECT_EQ(experiment.trials[0].loss_by_time,
            (std::vector<Point>{{0.5, 4}, {1, 4}, {1.5, 4}, {2, 4}}));
}

TEST(CollectorTest, KeepsTheMaximumOfMemoryAndTheKnownNoiseScale) {
  Experiment experiment = Study();
  v1::ReadMetricsResponse page;
  for (uint64_t step = 1; step <= 3; ++step) AddRow(page, 1, step, 4);
  page.mutable_rows(1)->mutable_row()->set_memory_peak_bytes(700);
  page.mutable_rows(2)->mutable_row()->set_memory_peak_bytes(500);
  page.mutable_rows(2)->mutable_row()->set_noise_scale_tokens(64);
  Collector collector(experiment);
  collector.Add(page);
  collector.Finish();
  EXPECT_EQ(experiment.trials[0].memory_peak_bytes, 700);
  EXPECT_EQ(experiment.trials[0].noise_by_tokens, (std::vector<Point>{{600, 64}}));
  EXPECT_TRUE(experiment.trials[1].noise_by_tokens.empty());
}

TEST(CollectorTest, LeavesOutValuesThatAreNotFinite) {
  Experiment experiment = Study();
  v1::ReadMetricsResponse page;
  AddRow(page, 1, 1, 4);
  AddRow(page, 1, 2, kNan);
  AddRow(page, 1, 3, kInf);
  AddEvaluation(page, 1, 3, kNan);
  Collector collector(experiment);
  collector.Add(page);
  collector.Finish();
  EXPECT_EQ(experiment.trials[0].loss_by_step, (std::vector<Point>{{1, 4}}));
  EXPECT_TRUE(experiment.trials[0].val_by_step.empty());
}

}  // namespace
}  // namespace dt::report
