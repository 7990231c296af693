// batch_size_test.cc: the critical batch size, from noise and from steps.
#include "report/page/batch_size.h"

#include <cmath>

#include "gtest/gtest.h"
#include "tests/report/fixture.h"

namespace dt::report {
namespace {

// The law itself: at least 100 steps, critical batch size 2,000.
double LawOfSteps(double batch) { return 100 * (1 + 2000 / batch); }

// Adds a trial whose loss falls in a straight line from 4 to 2, after the number of steps that the
// law gives.
void AddBatch(Experiment& experiment, uint64_t batch, double slower = 1) {
  Trial& trial = AddTrial(experiment, 2);
  trial.summary.set_tokens_per_step(batch);
  Assign(trial.summary, "train.global_batch_size", static_cast<int64_t>(batch) / 64);
  trial.mean_by_step = {{0, 4}, {LawOfSteps(static_cast<double>(batch)) * slower, 2}};
}

std::string PageOf(const Experiment& experiment) {
  Document document;
  AppendBatchSize(experiment, document);
  return document.blocks.empty() ? "" : MarkdownPage(document);
}

TEST(FitBatchesTest, FindsTheLawThatMadeThePoints) {
  std::vector<StepsToLoss> reached;
  for (const double batch : {500.0, 1000.0, 4000.0, 16000.0}) {
    reached.push_back({batch, LawOfSteps(batch)});
  }
  const auto fit = FitBatches(reached);
  ASSERT_TRUE(fit.has_value());
  EXPECT_NEAR(fit->least_steps, 100, 1e-6);
  EXPECT_NEAR(fit->least_tokens, 200'000, 1e-3);
  EXPECT_NEAR(fit->Critical(), 2000, 1e-6);
}

TEST(FitBatchesTest, IsEmptyForBatchesThatFollowNoLaw) {
  EXPECT_FALSE(FitBatches({{500, 10}, {1000, 8}}).has_value()) << "too few";
  EXPECT_FALSE(FitBatches({{500, 10}, {1000, 20}, {2000, 40}}).has_value()) << "rising";
  EXPECT_FALSE(FitBatches({{500, 10}, {1000, 10}, {2000, 10}}).has_value()) << "all above it";
  EXPECT_FALSE(FitBatches({{500, 10}, {500, 10}, {500, 10}}).has_value()) << "one batch";
  EXPECT_FALSE(FitBatches({{500, 10}, {1000, INFINITY}, {2000, 2}}).has_value());
}

TEST(BatchSizeTest, TheCriticalBatchFollowsFromTheStepsToACommonLoss) {
  Experiment experiment = NewExperiment(12, "batches");
  for (const uint64_t batch : {512, 1024, 4096, 16384}) AddBatch(experiment, batch);
  const std::string page = PageOf(experiment);
  EXPECT_TRUE(Has(page, "Critical batch, by these steps: 2,000 tokens")) << page;
  EXPECT_TRUE(Has(page, "To a training loss of 2.0000")) << page;
  EXPECT_TRUE(Has(page, "| 12/3 | global_batch_size=64 | 4,096 | 149 | 609,600 |")) << page;
  EXPECT_TRUE(Has(page, "arXiv:1812.06162"));
}

TEST(BatchSizeTest, AtEachBatchTheFastestLearningRateCounts) {
  Experiment experiment = NewExperiment(12, "batches");
  for (const double slower : {1.5, 1.0, 3.0}) {
    for (const uint64_t batch : {512, 1024, 4096}) {
      AddBatch(experiment, batch, slower);
      Assign(experiment.trials.back().summary, "optimizer.lr", static_cast<int64_t>(10 * slower));
    }
  }
  EXPECT_TRUE(Has(PageOf(experiment), "Critical batch, by these steps: 2,000 tokens"));
}

TEST(BatchSizeTest, TrialsOfSeveralModelsAreNotCompared) {
  Experiment experiment = NewExperiment(12, "models");
  for (const uint64_t batch : {512, 1024, 4096}) {
    AddBatch(experiment, batch);
    Assign(experiment.trials.back().summary, "model.n_layer", static_cast<int64_t>(batch));
  }
  EXPECT_EQ(PageOf(experiment), "");
}

TEST(BatchSizeTest, BatchesThatDifferByTheirRanksAloneAreNotCompared) {
  Experiment experiment = NewExperiment(12, "weak scaling");
  for (const uint64_t batch : {512, 1024, 4096}) {
    AddBatch(experiment, batch);
    v1::Assignment& only = *experiment.trials.back().summary.mutable_assignments(0);
    only.set_path("resources.gpus");
  }
  EXPECT_EQ(PageOf(experiment), "");
}

TEST(BatchSizeTest, TheNoiseScaleGivesTheCostOfABatch) {
  Experiment experiment = Study();
  experiment.trials[1].noise_by_tokens = {{200, 90}, {400, 100}};
  const std::string page = PageOf(experiment);
  EXPECT_TRUE(Has(page, "| 12/2 | batch_size=8 seq_len=128 | 200 | 100 | 2.00 | 1.50× | 3.00× |"))
      << page;
  EXPECT_FALSE(Has(page, "| 12/1 |"));
}

TEST(BatchSizeTest, WithoutNoiseAndBatchesThereIsNoSection) {
  EXPECT_EQ(PageOf(Study()), "");
  EXPECT_EQ(PageOf(NewExperiment(12, "none")), "");
}

}  // namespace
}  // namespace dt::report
