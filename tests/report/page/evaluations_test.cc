#include "report/page/evaluations.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/report/fixture.h"

namespace dt::report {
namespace {

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Returns an experiment of four trials, of which trial 2 is the best.
Experiment Evaluated() {
  Experiment experiment = NewExperiment(12, "tasks");
  for (const double loss : {3.0, 1.0, 2.0, 4.0}) AddTrial(experiment, loss);
  v1::ReadMetricsResponse page;
  for (uint32_t trial = 1; trial <= 4; ++trial) {
    for (const uint64_t step : {10, 20}) {
      AddEvaluation(page, trial, step, 1);
      v1::Evaluation& one = *page.mutable_evaluations()->rbegin()->mutable_evaluation();
      if (trial != 3) {
        one.set_hellaswag_acc(static_cast<double>(step) / 80);
        one.set_hellaswag_acc_norm(0.3125);
      }
      one.add_samples(absl::StrCat("text ", trial, " at ", step, " <b>"));
    }
  }
  Collector collector(experiment);
  collector.Add(page);
  collector.Finish();
  return experiment;
}

TEST(EvaluationsTest, AccuraciesComeFromTheLastEvaluation) {
  Document document;
  AppendAccuracies(Evaluated(), document);
  const std::string page = MarkdownPage(document);
  EXPECT_TRUE(Has(page, "| 12/1 | - | 20 | 25.00% | 31.25% |")) << page;
  EXPECT_FALSE(Has(page, "12.5")) << "an earlier one";
  EXPECT_FALSE(Has(page, "12/3")) << "it has none";
}

TEST(EvaluationsTest, SamplesAreTheNewestOfTheBestTrials) {
  Document document;
  AppendSamples(Evaluated(), document);
  const std::string page = HtmlPage(document);
  EXPECT_TRUE(Has(page, "Trial 12/2 at step 20, sample 1")) << page;
  EXPECT_TRUE(Has(page, "text 2 at 20 &lt;b&gt;")) << page;
  EXPECT_FALSE(Has(page, "at 10")) << "an earlier one";
  EXPECT_LT(page.find("text 2"), page.find("text 3")) << "the best first";
  EXPECT_FALSE(Has(page, "text 4")) << "three are enough";
}

TEST(EvaluationsTest, WithoutEvaluationsThereIsNoSection) {
  Document document;
  AppendAccuracies(Study(), document);
  AppendSamples(Study(), document);
  EXPECT_TRUE(document.blocks.empty());
}

}  // namespace
}  // namespace dt::report
