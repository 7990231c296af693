// metric_rows_test.cc: step rows and evaluations as one ordered stream.
#include "cli/view/metric_rows.h"

#include <algorithm>
#include <limits>
#include <set>

#include "gtest/gtest.h"
#include "tests/testing/metric_page.h"

namespace dt::cli {
namespace {

std::string Csv(const MetricRows& rows, const std::vector<Json>& ready) {
  std::string text;
  for (const Json& row : ready) text += rows.CsvLine(row);
  return text;
}

TEST(MetricRowsTest, ColumnsAreTheFieldsOfAStepRow) {
  const MetricRows rows(12, {}, Attempts::kValidOnly);
  const auto columns = rows.Columns();
  for (const char* name : {"step", "loss", "learning_rate", "grad_norm", "comm_exposed_seconds",
                           "allreduce_bytes", "tokens_per_second", "val_loss"}) {
    EXPECT_EQ(std::count(columns.begin(), columns.end(), name), 1) << name;
  }
}

TEST(MetricRowsTest, EvaluationsBetweenLoggedStepsAndAfterTheLastAreRowsOfTheirOwn) {
  v1::ReadMetricsResponse page;
  AddEvaluation(page, 2, 5, 1.75);
  AddEvaluation(page, 1, 15, 2.25);
  AddEvaluation(page, 1, 20, 2.125);
  AddRow(page, 1, 10, 3);
  v1::ReadMetricsResponse next;
  AddRow(next, 1, 20, 2);
  MetricRows rows(12, {"loss", "val_loss"}, Attempts::kValidOnly);
  std::string csv = Csv(rows, rows.Add(page));
  csv += Csv(rows, rows.Add(next));
  csv += Csv(rows, rows.Finish());
  EXPECT_EQ(csv,
            "12,1,1,10,3,\n"
            "12,1,1,15,,2.25\n"
            "12,1,1,20,2,2.125\n"
            "12,2,1,5,,1.75\n");
}

TEST(MetricRowsTest, AnEvaluationAtAStepWithSeveralAttemptsJoinsItsOwn) {
  v1::ReadMetricsResponse page;
  AddRow(page, 1, 10, 3);
  AddRow(page, 1, 10, 4);
  page.mutable_rows(0)->set_superseded(true);
  page.mutable_rows(1)->set_attempt(2);
  AddEvaluation(page, 1, 10, 2.5);
  page.mutable_evaluations(0)->set_attempt(2);
  MetricRows rows(12, {"loss", "val_loss"}, Attempts::kAll);
  EXPECT_EQ(rows.CsvHeader(), "experiment,trial,attempt,step,superseded,loss,val_loss\n");
  EXPECT_EQ(Csv(rows, rows.Add(page)),
            "12,1,1,10,true,3,\n"
            "12,1,2,10,false,4,2.5\n");
}

TEST(MetricRowsTest, AnEvaluationThatTheNextAttemptMadeJoinsTheRowOfItsStep) {
  v1::ReadMetricsResponse page;
  AddRow(page, 1, 10, 3);
  AddRow(page, 1, 11, 2);
  page.mutable_rows(1)->set_attempt(2);
  AddEvaluation(page, 1, 10, 2.5);
  page.mutable_evaluations(0)->set_attempt(2);
  MetricRows rows(12, {"loss", "val_loss"}, Attempts::kValidOnly);
  EXPECT_EQ(Csv(rows, rows.Add(page)),
            "12,1,1,10,3,2.5\n"
            "12,1,2,11,2,\n");
}

TEST(MetricRowsTest, ValuesThatTheTrainerDidNotKnowAreLeftOut) {
  v1::ReadMetricsResponse page;
  AddRow(page, 1, 10, 3);
  AddRow(page, 1, 20, 2);
  v1::StepRow& known = *page.mutable_rows(1)->mutable_row();
  known.set_flops(3000);
  known.set_peak_flops(24000);
  known.set_noise_scale_tokens(512);
  MetricRows rows(12, {"peak_flops", "flops_utilization_ratio", "noise_scale_tokens"},
                  Attempts::kValidOnly);
  std::string csv = Csv(rows, rows.Add(page));
  csv += Csv(rows, rows.Finish());
  EXPECT_EQ(csv, "12,1,1,20,24000,0.25,512\n") << "half a second";
}

TEST(MetricRowsTest, ThePerplexityIsShownIfTheTrainerReportedIt) {
  v1::ReadMetricsResponse page;
  AddEvaluation(page, 1, 10, 2.5);
  AddEvaluation(page, 1, 20, 2.25);
  page.mutable_evaluations(1)->mutable_evaluation()->set_perplexity_mean(9.75);
  MetricRows rows(12, {"val_loss", "val_perplexity_mean"}, Attempts::kValidOnly);
  EXPECT_EQ(Csv(rows, rows.Add(page)), "");
  EXPECT_EQ(Csv(rows, rows.Finish()),
            "12,1,1,10,2.5,\n"
            "12,1,1,20,2.25,9.75\n");
}

void AddMetric(v1::ReadMetricsResponse& page, const std::string& name, double value) {
  v1::Evaluation& newest =
      *page.mutable_evaluations(page.evaluations_size() - 1)->mutable_evaluation();
  v1::Metric& metric = *newest.add_metrics();
  metric.set_name(name);
  metric.set_value(value);
}

TEST(MetricRowsTest, AProgramsOwnMetricsHaveColumnsAfterTheOthers) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  v1::ReadMetricsResponse first;
  AddEvaluation(first, 1, 5, none);
  AddMetric(first, "zeta", 2);
  AddMetric(first, "step", 7);
  v1::ReadMetricsResponse second;
  AddEvaluation(second, 1, 10, none);
  AddMetric(second, "accuracy", 0.5);
  AddMetric(second, "zeta", none);
  second.mutable_evaluations(0)->mutable_evaluation()->set_train_loss(3.5);
  AddRow(second, 1, 20, 3);
  MetricRows rows(12, {}, Attempts::kValidOnly, {"lr"}, {}, RowSource::kProgram);
  std::vector<Json> ready = rows.Add(first);
  EXPECT_TRUE(ready.empty());
  EXPECT_FALSE(rows.settled()) << "a later page may bring other names";
  ready = rows.Add(second);
  ASSERT_TRUE(rows.settled());
  const auto& columns = rows.Columns();
  const std::vector<std::string> last(columns.end() - 5, columns.end());
  EXPECT_EQ(last,
            (std::vector<std::string>{"train_loss", "accuracy", "metric.step", "zeta", "lr"}));
  ASSERT_EQ(ready.size(), 3u);
  EXPECT_EQ(JsonLine(ready[0]),
            "{\"experiment\":12,\"trial\":1,\"attempt\":1,\"step\":5,\"zeta\":2.0,"
            "\"metric.step\":7.0}\n");
  EXPECT_EQ(JsonLine(ready[1]),
            "{\"experiment\":12,\"trial\":1,\"attempt\":1,\"step\":10,\"train_loss\":3.5,"
            "\"accuracy\":0.5}\n");
}

TEST(MetricRowsTest, NoUsersNameTakesABuiltInColumnOrThatOfAnotherName) {
  v1::ReadMetricsResponse page;
  AddEvaluation(page, 1, 5, std::numeric_limits<double>::quiet_NaN());
  for (const char* name : {"trial", "metric.trial", "seconds", "accuracy", "parameters"}) {
    AddMetric(page, name, 7);
  }
  AddRow(page, 1, 5, 3);
  v1::TrialSummary trial;
  trial.set_trial(1);
  const std::vector<std::string> paths = {"trial", "step", "loss", "accuracy", "parameters.trial"};
  for (const std::string& path : paths) {
    v1::Assignment& one = *trial.add_assignments();
    one.set_path(path);
    one.mutable_value()->set_text("mine: " + path);
  }
  MetricRows rows(12, {}, Attempts::kAll, paths, {trial}, RowSource::kProgram);
  std::vector<Json> ready = rows.Add(page);
  ASSERT_EQ(ready.size(), 1u);
  EXPECT_EQ(ready[0]["trial"], 1);
  EXPECT_EQ(ready[0]["metric.trial"], 7);
  EXPECT_EQ(ready[0]["metric.metric.trial"], 7);
  EXPECT_EQ(ready[0]["metric.seconds"], 7);
  EXPECT_EQ(ready[0]["parameters"]["trial"], "mine: trial");
  const std::vector<std::string>& columns = rows.Columns();
  EXPECT_EQ(std::set<std::string>(columns.begin(), columns.end()).size(), columns.size());
  const std::vector<std::string> last(columns.end() - 5, columns.end());
  EXPECT_EQ(last,
            (std::vector<std::string>{"parameters.trial", "parameters.step", "parameters.loss",
                                      "parameters.accuracy", "parameters.parameters.trial"}));
  EXPECT_NE(rows.CsvLine(ready[0]).find(",mine: trial,mine: step,mine: loss,"), std::string::npos);
}

TEST(MetricRowsTest, AChosenMetricOfAProgramIsTheOnlyColumn) {
  v1::ReadMetricsResponse page;
  AddEvaluation(page, 1, 5, std::numeric_limits<double>::quiet_NaN());
  AddMetric(page, "accuracy", 0.5);
  AddRow(page, 1, 20, 3);
  MetricRows rows(12, {"accuracy"}, Attempts::kValidOnly, {}, {}, RowSource::kProgram);
  EXPECT_EQ(Csv(rows, rows.Add(page)), "12,1,1,5,0.5\n");
  EXPECT_EQ(rows.CsvHeader(), "experiment,trial,attempt,step,accuracy\n");
  EXPECT_TRUE(CheckMetricsExist({"accuracy", "loss"}, rows.reported()).ok());
  const absl::Status unknown = CheckMetricsExist({"acuracy"}, rows.reported());
  EXPECT_NE(unknown.message().find("did you mean 'accuracy'?"), std::string::npos) << unknown;
  EXPECT_FALSE(CheckMetricsExist({"accuracy"}, {}).ok());
}

TEST(MetricRowsTest, UnreportedValuesOfAProgramsRowAreEmptyNotZero) {
  v1::ReadMetricsResponse page;
  AddRow(page, 1, 10, 3);
  v1::StepRow& row = *page.mutable_rows(0)->mutable_row();
  row.set_learning_rate(std::numeric_limits<double>::quiet_NaN());
  row.set_grad_norm(0);  // it reported this
  row.clear_tokens();
  row.clear_forward_seconds();
  const std::vector<std::string> names = {"loss",   "learning_rate",     "grad_norm",
                                          "tokens", "tokens_per_second", "forward_seconds"};
  MetricRows of_program(12, names, Attempts::kValidOnly, {}, {}, RowSource::kProgram);
  EXPECT_EQ(Csv(of_program, of_program.Add(page)), "12,1,1,10,3,,0,,,\n");
  MetricRows of_trainer(12, names, Attempts::kValidOnly);
  EXPECT_EQ(Csv(of_trainer, of_trainer.Add(page)), "12,1,1,10,3,nan,0,0,0,0\n");
}

TEST(MetricRowsTest, AccuraciesAreInTheRowsOfTheirEvaluations) {
  v1::ReadMetricsResponse page;
  AddEvaluation(page, 1, 10, 2.5);
  AddEvaluation(page, 1, 20, 2.25);
  page.mutable_evaluations(0)->mutable_evaluation()->set_hellaswag_acc(0);
  page.mutable_evaluations(0)->mutable_evaluation()->set_hellaswag_acc_norm(0.25);
  MetricRows rows(12, {"hellaswag_acc", "hellaswag_acc_norm"}, Attempts::kValidOnly);
  EXPECT_EQ(Csv(rows, rows.Add(page)), "");
  EXPECT_EQ(Csv(rows, rows.Finish()), "12,1,1,10,0,0.25\n");
}

TEST(MetricRowsTest, RowsWithoutTheChosenMetricAreLeftOut) {
  v1::ReadMetricsResponse page;
  AddRow(page, 1, 10, 3);
  AddEvaluation(page, 1, 15, 2.25);
  MetricRows only_val(12, {"val_loss"}, Attempts::kValidOnly);
  EXPECT_EQ(Csv(only_val, only_val.Add(page)), "");
  EXPECT_EQ(Csv(only_val, only_val.Finish()), "12,1,1,15,2.25\n");
  MetricRows only_loss(12, {"loss"}, Attempts::kValidOnly);
  EXPECT_EQ(Csv(only_loss, only_loss.Add(page)), "12,1,1,10,3\n");
  EXPECT_EQ(Csv(only_loss, only_loss.Finish()), "");
}

TEST(MetricRowsTest, ARowHasTheParametersOfItsTrialAfterTheMetrics) {
  std::vector<v1::TrialSummary> trials(2);
  for (uint32_t i = 0; i < 2; ++i) {
    trials[i].set_trial(i + 1);
    v1::Assignment& rate = *trials[i].add_assignments();
    rate.set_path("optimizer.lr");
    rate.mutable_value()->set_number(i == 0 ? 0.001 : 0.01);
    v1::Assignment& data = *trials[i].add_assignments();
    data.set_path("data.train");
    data.mutable_value()->set_text("a,b.bin");
  }
  v1::ReadMetricsResponse page;
  AddRow(page, 1, 10, 3);
  AddRow(page, 2, 10, 4);
  trials[1].mutable_assignments()->RemoveLast();
  const std::vector<std::string> paths = {"data.train", "optimizer.lr"};
  MetricRows rows(12, {"loss"}, Attempts::kValidOnly, paths, trials);
  const std::string header = "experiment,trial,attempt,step,loss,data.train,optimizer.lr\n";
  EXPECT_EQ(rows.CsvHeader(), header);
  EXPECT_EQ(MetricRows(12, {"loss"}, Attempts::kValidOnly, paths).CsvHeader(), header)
      << "whichever trials there are";
  const auto ready = rows.Add(page);
  EXPECT_EQ(Csv(rows, ready), "12,1,1,10,3,\"a,b.bin\",0.001\n12,2,1,10,4,,0.01\n");
  EXPECT_EQ(ready.at(1)["parameters"]["optimizer.lr"], 0.01);
}

TEST(MetricRowsTest, NotANumberIsNanInCsvAndNullInJson) {
  v1::ReadMetricsResponse page;
  AddRow(page, 1, 10, std::numeric_limits<double>::quiet_NaN());
  MetricRows rows(12, {"loss", "tokens_per_second"}, Attempts::kValidOnly);
  const auto ready = rows.Add(page);
  EXPECT_EQ(Csv(rows, ready), "12,1,1,10,nan,200\n");
  EXPECT_EQ(JsonLine(ready.at(0)),
            "{\"experiment\":12,\"trial\":1,\"attempt\":1,\"step\":10,\"loss\":null,"
            "\"tokens_per_second\":200.0}\n");
}

}  // namespace
}  // namespace dt::cli
