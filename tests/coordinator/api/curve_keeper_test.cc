// curve_keeper_test.cc: which rows are read once, which are read again, and which are kept.
#include "coordinator/api/curve_keeper.h"

#include <cmath>

#include "common/api_limits.h"
#include "gtest/gtest.h"
#include "tests/coordinator/api/scripted_reader.h"

namespace dt {
namespace {

class CurveKeeperTest : public ::testing::Test {
 protected:
  TrialCurves Read(const std::vector<std::string>& metrics, uint32_t attempts = 1,
                   size_t rows = limits::kApiRowsRead, uint32_t trial = 1) {
    size_t left = rows;
    auto read = keeper_.Read(reader_, {7, trial, metrics, 1000}, attempts, left);
    EXPECT_TRUE(read.ok()) << read.status();
    return *std::move(read);
  }

  ScriptedReader reader_;
  CurveKeeper keeper_;
};

TEST_F(CurveKeeperTest, RowsAndEvaluationsBecomeCurvesByTheNamesOfDtctl) {
  for (uint64_t step = 1; step <= 4; ++step) reader_.AddRow(step, 5.0 - static_cast<double>(step));
  reader_.AddEvaluation(2, 3.5);
  const TrialCurves read =
      Read({"loss", "tokens_per_second", "val_loss", "accuracy", "no_such_metric"});
  EXPECT_TRUE(read.complete);
  EXPECT_EQ(read.rows, 4u);
  ASSERT_EQ(read.metrics.size(), 5u);
  EXPECT_EQ(read.metrics[0].size(), 4u);
  EXPECT_EQ(read.metrics[0].back(), (CurvePoint{4, 1}));
  EXPECT_EQ(read.metrics[1].front(), (CurvePoint{1, 200}));
  EXPECT_EQ(read.metrics[2], (std::vector<CurvePoint>{{2, 3.5}}));
  EXPECT_EQ(read.metrics[3], (std::vector<CurvePoint>{{2, 0.35}}));
  EXPECT_TRUE(read.metrics[4].empty());
}

TEST_F(CurveKeeperTest, AnUnreportedValueIsNotZero) {
  reader_.AddRow(1, 0);
  reader_.rows.back().mutable_row()->set_tokens(0);
  const std::vector<std::string> metrics = {"loss",         "tokens",          "tokens_per_second",
                                            "slowest_rank", "forward_seconds", "peak_flops"};
  size_t left = limits::kApiRowsRead;
  const auto of_program =
      keeper_.Read(reader_, {7, 1, metrics, 1000, spec::RowSource::kProgram}, 1, left);
  ASSERT_TRUE(of_program.ok()) << of_program.status();
  EXPECT_EQ(of_program->metrics[0].front(), (CurvePoint{1, 0})) << "a loss of 0 was reported";
  for (size_t i = 1; i < metrics.size(); ++i) {
    for (const CurvePoint& point : of_program->metrics[i]) {
      EXPECT_TRUE(std::isnan(point.value)) << metrics[i];
    }
  }
  const TrialCurves of_trainer = Read({"slowest_rank", "tokens", "peak_flops"});
  EXPECT_EQ(of_trainer.metrics[0].front(), (CurvePoint{1, 0})) << "rank 0 was the slowest";
  EXPECT_EQ(of_trainer.metrics[1].front(), (CurvePoint{1, 0}));
  EXPECT_TRUE(std::isnan(of_trainer.metrics[2].front().value));
}

TEST_F(CurveKeeperTest, AProgramsEvaluationHasTheMetricsThatItReported) {
  reader_.AddRow(1, 1);
  reader_.AddEvaluation(2, NAN);
  v1::Metric& own = *reader_.evaluations.back().mutable_evaluation()->add_metrics();
  own.set_name("hellaswag_acc");
  own.set_value(0.75);
  const std::vector<std::string> metrics = {"val_loss", "hellaswag_acc"};
  size_t left = limits::kApiRowsRead;
  const auto read =
      keeper_.Read(reader_, {7, 1, metrics, 1000, spec::RowSource::kProgram}, 1, left);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->metrics[0].empty()) << "it reported no loss";
  EXPECT_EQ(read->metrics[1], (std::vector<CurvePoint>{{2, 0.75}})) << "as in dtctl metrics";
}

TEST_F(CurveKeeperTest, ARowIsReadOnce) {
  for (uint64_t step = 1; step <= 1000; ++step) reader_.AddRow(step, 1);
  Read({"loss"});
  EXPECT_EQ(reader_.rows_read, 1000u);
  Read({"loss"});
  EXPECT_EQ(reader_.rows_read, 1000u);
  reader_.AddRow(1001, 2);
  EXPECT_EQ(Read({"loss"}).metrics[0].back(), (CurvePoint{1001, 2}));
  EXPECT_EQ(reader_.rows_read, 1001u);
}

TEST_F(CurveKeeperTest, EvaluationsOfManyPagesComeEachOnceAndNewOnesToo) {
  reader_.AddRow(1, 1);
  for (uint64_t step = 1; step <= 100; ++step) reader_.AddEvaluation(step, 1);
  EXPECT_EQ(Read({"val_loss"}).metrics[0].size(), 100u);
  reader_.AddEvaluation(101, 0.5);
  const TrialCurves read = Read({"val_loss"});
  EXPECT_EQ(read.metrics[0].size(), 101u);
  EXPECT_EQ(read.metrics[0].back(), (CurvePoint{101, 0.5}));
}

TEST_F(CurveKeeperTest, AnAnswerReadsABoundedNumberOfRowsAndSaysThatThereAreMore) {
  for (uint64_t step = 1; step <= 50; ++step) reader_.AddRow(step, 1);
  const TrialCurves first = Read({"loss"}, 1, 20);
  EXPECT_FALSE(first.complete);
  EXPECT_EQ(first.rows, 20u);
  EXPECT_FALSE(Read({"loss"}, 1, 20).complete);
  const TrialCurves third = Read({"loss"}, 1, 20);
  EXPECT_TRUE(third.complete);
  EXPECT_EQ(third.rows, 50u);
  EXPECT_EQ(reader_.rows_read, 50u);
}

TEST_F(CurveKeeperTest, ANewAttemptMakesTheTrialBeReadAgain) {
  for (uint64_t step = 1; step <= 30; ++step) reader_.AddRow(step, 1);
  EXPECT_EQ(Read({"loss"}).metrics[0].back().step, 30u);
  reader_.rows.resize(10);  // the reader leaves out superseded rows
  reader_.AddRow(11, 9, 2);
  const TrialCurves read = Read({"loss"}, 2);
  EXPECT_EQ(read.rows, 11u);
  EXPECT_EQ(read.metrics[0].back(), (CurvePoint{11, 9}));
}

TEST_F(CurveKeeperTest, TheLeastRecentlyRequestedTrialsAreDropped) {
  reader_.AddRow(1, 1);
  for (uint32_t trial = 1; trial <= limits::kApiCurvesKept + 10; ++trial) {
    Read({"loss"}, 1, 10, trial);
  }
  EXPECT_LE(keeper_.kept(), limits::kApiCurvesKept);
  EXPECT_GT(keeper_.kept(), limits::kApiCurvesKept / 2);
}

TEST_F(CurveKeeperTest, ALossThatIsNoNumberIsAGap) {
  reader_.AddRow(1, 2);
  reader_.AddRow(2, NAN);
  const TrialCurves read = Read({"loss"});
  ASSERT_EQ(read.metrics[0].size(), 2u);
  EXPECT_TRUE(std::isnan(read.metrics[0][1].value));
}

}  // namespace
}  // namespace dt
