// step_metrics_test.cc: names and values of the metrics of a row and of an evaluation.
#include "spec/step_metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace dt::spec {
namespace {

const double kNan = std::nan("");

v1::StepRow TimedRow() {
  v1::StepRow row;
  row.set_step(7);
  row.set_tokens(600);
  row.set_seconds(4);
  row.set_eval_seconds(0.75);
  row.set_checkpoint_seconds(0.25);
  return row;
}

TEST(StepMetricsTest, EveryNameFindsAValueInACompleteRow) {
  v1::StepRow row = TimedRow();
  row.set_peak_flops(2);
  row.set_noise_scale_tokens(3);
  for (const std::string& name : StepMetricNames()) {
    EXPECT_TRUE(IsStepMetric(name)) << name;
    EXPECT_TRUE(FindStepMetric(row, name, RowSource::kTrainer).has_value()) << name;
  }
  for (const char* name : {"collectives", "val_loss", "accuracy", ""}) {
    EXPECT_FALSE(IsStepMetric(name)) << name;
    EXPECT_FALSE(FindStepMetric(row, name, RowSource::kTrainer).has_value()) << name;
  }
  for (const std::string& name : EvaluationMetricNames()) EXPECT_FALSE(IsStepMetric(name)) << name;
}

TEST(StepMetricsTest, RatesLeaveOutEvaluationsAndCheckpoints) {
  v1::StepRow row = TimedRow();
  const auto rate = [&row](RowSource source) {
    return FindStepMetric(row, "tokens_per_second", source);
  };
  EXPECT_EQ(rate(RowSource::kTrainer), Number(200.0));
  row.set_flops(30);
  EXPECT_FALSE(FindStepMetric(row, "flops_utilization_ratio", RowSource::kTrainer).has_value());
  row.set_peak_flops(40);
  EXPECT_EQ(FindStepMetric(row, "flops_utilization_ratio", RowSource::kTrainer), Number(0.25));
  row.set_tokens(0);
  EXPECT_EQ(rate(RowSource::kTrainer), Number(0.0));
  EXPECT_FALSE(rate(RowSource::kProgram).has_value()) << "it counts no tokens";
  row.set_eval_seconds(5);
  EXPECT_EQ(TrainingSecondsOf(row), 0) << "never below 0";
  EXPECT_FALSE(rate(RowSource::kTrainer).has_value());
}

TEST(StepMetricsTest, AnUnreportedValueOfAProgramIsNoValue) {
  v1::StepRow row;
  row.set_loss(kNan);
  EXPECT_FALSE(FindStepMetric(row, "loss", RowSource::kProgram).has_value());
  EXPECT_TRUE(FindStepMetric(row, "loss", RowSource::kTrainer).has_value()) << "it diverged";
  EXPECT_EQ(FindStepMetric(row, "grad_norm", RowSource::kProgram), Number(0.0));
  EXPECT_FALSE(FindStepMetric(row, "slowest_rank", RowSource::kProgram).has_value());
  EXPECT_EQ(FindStepMetric(row, "slowest_rank", RowSource::kTrainer), Number(int64_t{0}));
  EXPECT_FALSE(FindStepMetric(row, "peak_flops", RowSource::kTrainer).has_value());
}

TEST(StepMetricsTest, AnEvaluationHasWhatItsSourceReported) {
  v1::Evaluation evaluation;
  evaluation.set_loss(kNan);
  const auto has = [&evaluation](const char* name, RowSource source) {
    return FindEvaluationMetric(evaluation, name, source).has_value();
  };
  EXPECT_TRUE(has("val_loss", RowSource::kTrainer));
  EXPECT_FALSE(has("val_loss", RowSource::kProgram));
  for (const char* name :
       {"val_perplexity_mean", "hellaswag_acc", "hellaswag_acc_norm", "train_loss", "loss"}) {
    EXPECT_FALSE(has(name, RowSource::kTrainer)) << name;
  }
  evaluation.set_hellaswag_acc(0);
  EXPECT_EQ(FindEvaluationMetric(evaluation, "hellaswag_acc", RowSource::kProgram), 0.0);
}

}  // namespace
}  // namespace dt::spec
