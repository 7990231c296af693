// metric_lines_test.cc: numbers in what a program prints, and the reports made of them.
#include "worker/program/metric_lines.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/program/samples.h"

namespace dt::program {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Returns the reports in a program's lines.
std::vector<std::string> Reported(const std::vector<std::string>& patterns,
                                  const std::vector<std::string>& lines, uint64_t resumed = 0) {
  auto made = MetricLines::Make(patterns, resumed);
  EXPECT_TRUE(made.ok()) << made.status();
  Samples samples(resumed, Samples::Fall::kKeep);
  std::vector<std::string> reports;
  for (const std::string& line : lines) {
    const auto sample = made->Take(line);
    if (!sample) continue;
    std::string report = samples.LineOf(*sample);
    if (!report.empty()) reports.push_back(std::move(report));
  }
  return reports;
}

TEST(MetricLinesTest, APatternWithAStepReportsAtThatStep) {
  EXPECT_THAT(Reported({"step {step}: train loss {loss}, val loss {val_loss}"},
                       {"starts", "step 0: train loss 4.5, val loss 4.25",
                        "step 250: train loss nan, val loss 2.5"}),
              ElementsAre(R"({"step": 0, "loss": 4.5, "val_loss": 4.25})",
                          R"({"step": 250, "loss": NaN, "val_loss": 2.5})"));
}

TEST(MetricLinesTest, ALineWithoutAStepBelongsToTheNewest) {
  EXPECT_THAT(Reported({"Epoch: {epoch} [", "Average loss: {val_loss}, Accuracy: {}({acc}%)"},
                       {"Train Epoch: 1 [0/60000 (0%)]", "Train Epoch: 1 [640/60000 (1%)]",
                        "Test set: Average loss: 0.05, Accuracy: 9832/10000 (98%)"}),
              ElementsAre(R"({"step": 1})", R"({"step": 1})",
                          R"({"step": 1, "val_loss": 0.05, "acc": 98})"));
}

TEST(MetricLinesTest, WithoutAnyStepValuesAreCounted) {
  const std::vector<std::string> patterns = {"loss={loss}", "acc={acc}"};
  EXPECT_THAT(Reported(patterns, {"loss=3", "loss=2", "acc=0.5", "loss=1"}),
              ElementsAre(R"({"step": 1, "loss": 3})", R"({"step": 2, "loss": 2})",
                          R"({"step": 2, "acc": 0.5})", R"({"step": 3, "loss": 1})"));
  EXPECT_THAT(Reported(patterns, {"loss=1"}, 7), ElementsAre(R"({"step": 8, "loss": 1})"))
      << "a resumed program counts on";
}

TEST(MetricLinesTest, ALineThatIsPrintedAgainIsReportedOnce) {
  EXPECT_THAT(
      Reported({"step {step} loss {loss}"}, {"step 1 loss 2", "step 1 loss 2", "step 1 loss 3"}),
      ElementsAre(R"({"step": 1, "loss": 2})", R"({"step": 1, "loss": 3})"));
}

TEST(MetricLinesTest, TqdmsBarCountsOverItsRounds) {
  EXPECT_THAT(
      Reported({"tqdm"},
               {"Loading: 100%|##########| 8/8 [00:00<00:00, 99.1it/s]",
                "Epoch 1:   0%|          | 0/100 [00:00<?, ?it/s]",
                "Epoch 1:  50%|█████     | 50/100 [00:12<00:15, 36.2it/s, loss=0.53, lr=1e-3]",
                "Epoch 1: 100%|██████████| 100/100 [00:25<00:00,  3.98s/it, loss=0.4, lr=1e-3]",
                "eval: 100%|██████████| 9/9 [00:01<00:00,  9.0it/s, acc=81.5%]",
                "Epoch 2:   1%|          | 1/100 [00:00<00:15, 36.2it/s, loss=0.3, lr=1e-3]"}),
      ElementsAre(R"({"step": 50, "loss": 0.53, "lr": 0.001})", R"({"step": 100, "loss": 0.4})",
                  R"({"step": 100, "acc": 81.5})", R"({"step": 101, "loss": 0.3})"));
  EXPECT_THAT(Reported({"tqdm"}, {"450it [00:12, 36.20it/s, loss=0.5]"}),
              ElementsAre(R"({"step": 450, "loss": 0.5})"));
  EXPECT_THAT(Reported({"tqdm"}, {"1/10 [00:12<00:10, 1it/s, loss=2]"}, 40),
              ElementsAre(R"({"step": 41, "loss": 2})"));
}

TEST(MetricLinesTest, LightningsBarsCountByEpoch) {
  EXPECT_THAT(
      Reported({"lightning"},
               {"Epoch 0: 100%|██████████| 938/938 [00:05<00:00, 170.11it/s, v_num=0, loss=0.5]",
                "Validation DataLoader 0: 100%|███| 20/20 [00:00<00:00, 50.0it/s]",
                "Epoch 0: 100%|██████████| 938/938 [00:06<00:00, 150.1it/s, v_num=0, loss=0.5, "
                "val_loss=0.25]",
                "Epoch 1:   1%|          | 9/938 [00:00<00:05, 170.11it/s, v_num=0, loss=0.4, "
                "val_loss=0.25]"}),
      ElementsAre(R"({"step": 938, "loss": 0.5})", R"({"step": 938, "val_loss": 0.25})",
                  R"({"step": 947, "loss": 0.4})"))
      << "a value that the bar keeps showing is no new one";
  EXPECT_THAT(
      Reported({"lightning"}, {"Epoch 1/9 ━━━━━ 30/100 0:00:05 • 0:00:00 170.11it/s v_num: 0.000 "
                               "train_loss: 0.125"}),
      ElementsAre(R"({"step": 130, "train_loss": 0.125})"));
}

TEST(MetricLinesTest, OtherLinesGiveNothing) {
  EXPECT_THAT(Reported({"tqdm", "lightning", "step {step} loss {loss}"},
                       {"", "hello", "step x loss y", "100%|##########| 938/938 [00:05<00:00]",
                        std::string(5000, 'x')}),
              IsEmpty());
}

}  // namespace
}  // namespace dt::program
