// head_loss_test.cc: the fused head against linear and cross_entropy_loss, term by term.
#include "worker/trainer/model/head_loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "worker/trainer/model/chunked_head_loss.h"
#include "worker/trainer/model/softmax_row.h"

namespace dt::trainer {
namespace {

struct Case {
  const char* name;
  int64_t rows, width, columns;
  bool bias;
  int64_t behind = 0;  // rows of the weights after the columns
};

struct HeadInputs {
  explicit HeadInputs(const Case& c)
      : hidden(Filled({c.rows, c.width}, 1.0).requires_grad_()),
        weight(Filled({c.columns + c.behind, c.width}, 0.2).requires_grad_()),
        targets(at::arange(c.rows, at::kLong).mul(37).remainder(c.columns)),
        columns(c.columns) {
    if (c.bias) bias = Filled({c.columns + c.behind}, 0.5).requires_grad_();
  }
  // Fills by a formula, so that no random generators have to agree.
  static at::Tensor Filled(at::IntArrayRef shape, double size) {
    const at::Tensor flat = at::arange(c10::multiply_integers(shape), at::kDouble);
    return (flat * 0.7).sin().mul(size).to(at::kFloat).view(shape);
  }
  at::Tensor Plain() const {
    return at::cross_entropy_loss(at::linear(hidden, weight, bias).slice(1, 0, columns), targets);
  }
  at::Tensor Fused() const { return FusedHeadLoss(hidden, {weight, bias, columns}, targets); }
  std::vector<at::Tensor> GradientsOf(const at::Tensor& loss) {
    std::vector<at::Tensor> inputs{hidden, weight};
    if (bias.defined()) inputs.push_back(bias);
    for (const at::Tensor& input : inputs) input.mutable_grad().reset();
    loss.backward();
    std::vector<at::Tensor> gradients;
    for (const at::Tensor& input : inputs) gradients.push_back(input.grad());
    return gradients;
  }

  at::Tensor hidden, weight, bias, targets;
  int64_t columns;
};

void ExpectNear(const at::Tensor& a, const at::Tensor& b) {
  ASSERT_TRUE(a.defined() && b.defined());
  ASSERT_EQ(a.sizes(), b.sizes());
  const double apart = (a - b).abs().max().item<double>();
  EXPECT_LE(apart, 2e-6 * b.abs().max().item<double>() + 1e-9);
}

class HeadLossTest : public ::testing::TestWithParam<Case> {};

TEST_P(HeadLossTest, LossAndGradientsEqualLinearAndCrossEntropy) {
  HeadInputs inputs(GetParam());
  const at::Tensor plain = inputs.Plain();
  const at::Tensor fused = inputs.Fused();
  EXPECT_NEAR(fused.item<double>(), plain.item<double>(), 2e-6);
  const std::vector<at::Tensor> expected = inputs.GradientsOf(plain);
  const std::vector<at::Tensor> got = inputs.GradientsOf(fused);
  for (size_t i = 0; i < expected.size(); ++i) ExpectNear(got[i], expected[i]);
}

TEST_P(HeadLossTest, WithoutGradientsTheLossIsTheSameToTheBit) {
  const HeadInputs inputs(GetParam());
  const float with = inputs.Fused().item<float>();
  at::NoGradGuard no_grad;
  const at::Tensor without = inputs.Fused();
  EXPECT_EQ(without.item<float>(), with);
  EXPECT_FALSE(without.requires_grad());
}

TEST_P(HeadLossTest, APartOfTheLossGivesThatPartOfTheGradients) {
  HeadInputs inputs(GetParam());
  const std::vector<at::Tensor> whole = inputs.GradientsOf(inputs.Fused());
  const std::vector<at::Tensor> part = inputs.GradientsOf(inputs.Fused() / 4);
  for (size_t i = 0; i < whole.size(); ++i) EXPECT_TRUE(at::equal(part[i], whole[i] / 4));
}

INSTANTIATE_TEST_SUITE_P(Shapes, HeadLossTest,
                         ::testing::Values(Case{"OneRow", 1, 8, 61, true},
                                           Case{"WholeVectors", 7, 16, 64, false},
                                           Case{"FewerColumnsThanAVector", 5, 8, 11, true},
                                           Case{"ManyChunks", 700, 12, 131, true},
                                           Case{"RowsBehind", 700, 12, 131, true, 61},
                                           Case{"GptVocabulary", 33, 20, 50257, false}),
                         [](const auto& info) { return info.param.name; });

TEST(HeadLossTiedTest, AWeightThatIsTheEmbeddingTooGetsBothGradients) {
  HeadInputs inputs({"", 20, 8, 50, false});
  const auto gradient = [&](bool fused) {
    inputs.weight.mutable_grad().reset();
    const at::Tensor hidden = at::embedding(inputs.weight, inputs.targets).view({4, 5, 8});
    const at::Tensor next = inputs.targets.roll(1).view({4, 5});
    const at::Tensor loss =
        fused ? FusedHeadLoss(hidden, {inputs.weight, {}, 50}, next)
              : at::cross_entropy_loss(at::linear(hidden.view({20, 8}), inputs.weight),
                                       next.view({20}));
    loss.backward();
    return inputs.weight.grad().clone();
  };
  ExpectNear(gradient(true), gradient(false));
}

class CountingTimeline final : public Timeline {
 public:
  void Restart() override { moments_ = 0; }
  Moment Now() override { return ++moments_; }
  double Seconds(Moment from, Moment to) const override { return to - from; }

 private:
  Moment moments_ = 0;
};

TEST(HeadLossSpansTest, ReportTheTimeOfGradientsAndNothingWithoutGradients) {
  CountingTimeline timeline;
  GradientSpans spans{timeline, {}};
  const HeadInputs inputs({"", 600, 8, 40, true});
  const Head head{inputs.weight, inputs.bias, 40};
  FusedHeadLoss(inputs.hidden, head, inputs.targets, &spans);
  ASSERT_EQ(spans.spans.size(), 1u);
  EXPECT_EQ(spans.spans[0], std::make_pair(1, 2));
  spans.spans.clear();
  ChunkedHeadLoss(inputs.hidden, head, inputs.targets, at::kFloat, &spans, /*chunk_logits=*/1);
  EXPECT_EQ(spans.spans.size(), 10u) << "of 64 rows each";
  spans.spans.clear();
  at::NoGradGuard no_grad;
  FusedHeadLoss(inputs.hidden, head, inputs.targets, &spans);
  ChunkedHeadLoss(inputs.hidden, head, inputs.targets, at::kFloat, &spans);
  EXPECT_TRUE(spans.spans.empty());
}

TEST(HeadLossEndsTest, ANonFiniteInputGivesANonFiniteLoss) {
  for (const float bad :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    HeadInputs inputs({"", 3, 8, 40, true});
    {
      at::NoGradGuard no_grad;
      inputs.bias[39] = bad;
    }
    EXPECT_FALSE(std::isfinite(inputs.Fused().item<float>()));
  }
}

TEST(HeadLossEndsTest, ATargetThatIsNoColumnIsRefused) {
  HeadInputs inputs({"", 3, 8, 40, true});
  inputs.targets[1] = 40;
  EXPECT_THROW(inputs.Fused(), c10::Error);
}

TEST(HeadLossEndsTest, HalfPrecisionAndAutocastAreLeftToPyTorchsOwn) {
  const at::Tensor hidden = at::zeros({2, 8});
  EXPECT_TRUE(HeadLossIsFusable(hidden));
  EXPECT_FALSE(HeadLossIsFusable(hidden.to(at::kBFloat16)));
  at::autocast::set_autocast_enabled(at::kCPU, true);
  EXPECT_FALSE(HeadLossIsFusable(hidden));
  at::autocast::set_autocast_enabled(at::kCPU, false);
}

TEST(SoftmaxRowTest, LogitsFarApartNeitherOverflowNorVanish) {
  std::vector<float> logits(50, -1e4f);
  logits[3] = 1e4f;
  logits[44] = 1e4f;
  SoftmaxRow row{logits.data(), nullptr, 50, 3};
  EXPECT_NEAR(RowLossAndGradient(row, 1.0f, nullptr), std::log(2.0), 1e-6);
  EXPECT_NEAR(logits[3], -0.5, 1e-6);
  EXPECT_NEAR(logits[44], 0.5, 1e-6);
  EXPECT_NEAR(logits[0], 0, 1e-30);
}

}  // namespace
}  // namespace dt::trainer
