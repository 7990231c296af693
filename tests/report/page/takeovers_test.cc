// takeovers_test.cc: the table of the takeovers in a population.
#include "report/page/takeovers.h"

#include "gtest/gtest.h"
#include "report/page/sections.h"
#include "tests/report/fixture.h"

namespace dt::report {
namespace {

void Put(google::protobuf::RepeatedPtrField<v1::Assignment>& values, const std::string& path,
         double number) {
  v1::Assignment& value = *values.Add();
  value.set_path(path);
  value.mutable_value()->set_number(number);
}

v1::Takeover& TakeOver(Trial& trial, uint32_t from, uint32_t share, double taken, double now) {
  v1::Takeover& takeover = trial.takeovers.emplace_back();
  takeover.set_from_trial(from);
  takeover.set_share(share);
  takeover.set_step(uint64_t{share} * 10);
  Put(*takeover.mutable_taken(), "optimizer.lr", taken);
  Put(*takeover.mutable_now(), "optimizer.lr", now);
  return takeover;
}

TEST(TakeoversTest, EachTakeoverIsARowWithBothMembersValues) {
  Experiment population = NewExperiment(12, "population");
  for (int i = 0; i < 3; ++i) AddTrial(population, 2);
  TakeOver(population.trials[1], 1, 1, 0.01, 0.008);
  v1::Takeover& twice = TakeOver(population.trials[1], 3, 2, 0.003, 0.0036);
  Put(*twice.mutable_taken(), "model.dropout", 0.1);
  Put(*twice.mutable_now(), "model.dropout", 0.1);
  TakeOver(population.trials[2], 1, 2, 0.01, 0.012);
  const std::string page = MarkdownPage(ExperimentReport(population));
  EXPECT_TRUE(Has(page,
                  "| 12/2 | 12/1 | optimizer.lr 0.01 → 0.008 | 1 | 10 |\n"
                  "| 12/2 | 12/3 | optimizer.lr 0.003 → 0.0036, model.dropout 0.1 | 2 | 20 |\n"
                  "| 12/3 | 12/1 | optimizer.lr 0.01 → 0.012 | 2 | 20 |\n"))
      << page;
  EXPECT_TRUE(Has(HtmlPage(ExperimentReport(population)), ">Takeovers<"));
}

TEST(TakeoversTest, WithoutATakeoverThereIsNoTable) {
  EXPECT_FALSE(Has(MarkdownPage(ExperimentReport(Study())), "Takeovers"));
}

TEST(TakeoversTest, TheCaptionNamesTrialsWhoseTakeoversAreUnknown) {
  Experiment population = NewExperiment(12, "population");
  AddTrial(population, 2);
  TakeOver(AddTrial(population, 2), 1, 1, 0.01, 0.008);
  population.without_attempts = 7;
  EXPECT_TRUE(
      Has(MarkdownPage(ExperimentReport(population)), "Without those of the last 7 trials"));
}

}  // namespace
}  // namespace dt::report
