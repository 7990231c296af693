// speed_test.cc: the use of time and memory, and how they scale.
#include "report/page/speed.h"

#include "gtest/gtest.h"
#include "tests/report/fixture.h"

namespace dt::report {
namespace {

template <typename Chart>
const Chart* FindChart(const Document& document, const std::string& title) {
  for (const Block& block : document.blocks) {
    const auto* figure = std::get_if<Figure>(&block);
    const auto* chart = figure == nullptr ? nullptr : std::get_if<Chart>(&figure->chart);
    if (chart != nullptr && chart->title == title) return chart;
  }
  return nullptr;
}

Trial& AddRanked(Experiment& experiment, int64_t ranks, double rate, uint64_t tokens_per_step) {
  Trial& trial = AddTrial(experiment, 2);
  Assign(trial.summary, "resources.gpus", ranks);
  trial.summary.set_world_size(static_cast<int32_t>(ranks));
  trial.summary.set_tokens_per_second(rate);
  trial.summary.set_tokens_per_step(tokens_per_step);
  return trial;
}

Document ScalingOf(const Experiment& experiment) {
  Document document;
  AppendScaling(experiment, document);
  return document;
}

TEST(ScalingTest, IsAgainstTheSmallestWorldSizeWithTheSameParameters) {
  Experiment experiment = NewExperiment(12, "scaling");
  for (const int64_t batch : {8, 16}) {
    for (const int64_t ranks : {2, 4}) {
      Assign(AddRanked(experiment, ranks, ranks == 2 ? 1000 : 1600, 200).summary,
             "train.batch_size", batch);
    }
  }
  const std::string page = MarkdownPage(ScalingOf(experiment));
  EXPECT_TRUE(
      Has(page, "| 12/1 | train.batch_size = 8 | strong | 2 | 200 | 1.00k | 500 | 100.0% |"))
      << page;
  EXPECT_TRUE(
      Has(page, "| 12/4 | train.batch_size = 16 | strong | 4 | 200 | 1.60k | 400 | 80.0% |"))
      << page;
}

TEST(ScalingTest, IsWeakIfTheBatchGrowsWithTheRanksAndStrongIfItStays) {
  for (const bool weak : {true, false}) {
    Experiment experiment = NewExperiment(12, "scaling");
    for (const int64_t ranks : {4, 1, 2}) {
      AddRanked(experiment, ranks, 100 * static_cast<double>(ranks) - 20,
                weak ? 64 * static_cast<uint64_t>(ranks) : 256);
    }
    const Document document = ScalingOf(experiment);
    const auto* chart = FindChart<LineChart>(document, "Scaling efficiency");
    ASSERT_NE(chart, nullptr);
    ASSERT_EQ(chart->lines.size(), 1u);
    EXPECT_EQ(chart->lines[0].name, weak ? "weak scaling" : "strong scaling");
    ASSERT_EQ(chart->lines[0].points.size(), 3u);
    EXPECT_EQ(chart->lines[0].points[0], (Point{1, 100}));
    EXPECT_EQ(chart->lines[0].points[2], (Point{4, 100 * 380.0 / 4 / 80}));
    EXPECT_EQ(chart->x_ticks, (std::vector<double>{1, 2, 4}));
  }
}

TEST(ScalingTest, ABatchThatIsDividedAmongTheRanksIsNoOtherParameter) {
  Experiment experiment = NewExperiment(12, "strong");
  for (const int64_t ranks : {1, 2, 4}) {
    Assign(AddRanked(experiment, ranks, 100, 256).summary, "train.batch_size", 8 / ranks);
  }
  const std::string page = MarkdownPage(ScalingOf(experiment));
  EXPECT_TRUE(Has(page, "| 12/3 | - | strong | 4 | 256 | 100 | 25 | 25.0% |")) << page;
}

TEST(ScalingTest, ShowsTheShareOfCommunicationWhichOneRankDoesNotHave) {
  Experiment experiment = NewExperiment(12, "scaling");
  for (const int64_t ranks : {1, 2}) AddRanked(experiment, ranks, 100, 256);
  const Document document = ScalingOf(experiment);
  const auto* chart = FindChart<LineChart>(document, "Communication over ranks");
  ASSERT_NE(chart, nullptr);
  ASSERT_EQ(chart->lines.size(), 2u);
  EXPECT_EQ(chart->lines[0].points, (std::vector<Point>{{1, 0}, {2, 25}}));
  EXPECT_EQ(chart->lines[1].points, (std::vector<Point>{{1, 0}, {2, 12.5}}));
}

TEST(ScalingTest, SeedsAreOnePoint) {
  Experiment experiment = NewExperiment(12, "scaling");
  for (const int64_t ranks : {1, 2}) {
    for (const int64_t seed : {1, 2}) {
      Trial& trial = AddRanked(experiment, ranks, 100 * static_cast<double>(seed), 256);
      Assign(trial.summary, "seed", seed);
    }
  }
  const Document document = ScalingOf(experiment);
  const std::string page = MarkdownPage(document);
  EXPECT_TRUE(Has(page, "| 12/1…2 | - | strong | 1 | 256 | 150 | 150 | 100.0% |")) << page;
  EXPECT_EQ(FindChart<LineChart>(document, "Scaling efficiency")->lines[0].points.size(), 2u);
}

TEST(ScalingTest, WithOneNumberOfRanksThereIsNoSection) {
  Experiment experiment = NewExperiment(12, "one");
  AddRanked(experiment, 2, 100, 256);
  AddRanked(experiment, 2, 100, 256);
  EXPECT_TRUE(ScalingOf(experiment).blocks.empty());
  EXPECT_TRUE(ScalingOf(NewExperiment(12, "none")).blocks.empty());
}

TEST(MemoryTest, IsTheMaximumOverRanksOrEmptyIfUnknown) {
  Experiment experiment = Study();
  Document document;
  AppendMemory(experiment, document);
  EXPECT_TRUE(document.blocks.empty());
  experiment.trials[0].memory_peak_bytes = 300 << 20;
  experiment.trials[1].memory_peak_bytes = 200 << 20;
  AppendMemory(experiment, document);
  const auto* chart = FindChart<BarChart>(document, "Memory of a rank");
  ASSERT_NE(chart, nullptr);
  ASSERT_EQ(chart->bars.size(), 2u);
  EXPECT_EQ(chart->bars[0].values, (std::vector<double>{300}));
  const std::string page = MarkdownPage(document);
  EXPECT_TRUE(Has(page, "| 12/2 | batch_size=8 seq_len=128 | 200 MiB |")) << page;
}

TEST(StepTimeTest, WithSeveralSeedsABarIsTheMeanOfAConfiguration) {
  Experiment experiment = NewExperiment(12, "seeds");
  for (const int64_t seed : {1, 2}) {
    Trial& trial = AddTrial(experiment, 2);
    Assign(trial.summary, "seed", seed);
    trial.logged = 10;
    trial.phase_seconds[1] = 0.001 * static_cast<double>(seed);
  }
  Document document;
  AppendStepTime(experiment, document);
  const auto* chart = FindChart<BarChart>(document, "Time of an optimizer step");
  ASSERT_NE(chart, nullptr);
  ASSERT_EQ(chart->bars.size(), 1u);
  EXPECT_NEAR(chart->bars[0].values[1], 1.5, 1e-9);
}

}  // namespace
}  // namespace dt::report
