// compressor_test.cc: the part that compression drops from gradients arrives later, and nothing
// else is kept.
#include "worker/trainer/parallel/compressor.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <memory>
#include <string>

namespace dt::trainer {
namespace {

// A single rank, whose mean is its own value.
class Alone final : public Exchange {
 public:
  int ranks() const override { return 1; }
  void Average(at::Tensor /*mine*/) override { ++messages; }
  at::Tensor Gather(const at::Tensor& mine) override {
    ++messages;
    return mine.view({1, -1});
  }
  int messages = 0;
};

at::Tensor Random(int64_t rows, int64_t columns, uint64_t seed = 7) {
  auto generator = at::detail::createCPUGenerator(seed);
  return at::empty({rows, columns}).normal_(0, 1, generator);
}
double NormOf(const at::Tensor& tensor) { return at::linalg_vector_norm(tensor).item<double>(); }

class CompressorTest : public ::testing::TestWithParam<std::string> {
 protected:
  static std::unique_ptr<Compressor> Make() {
    if (GetParam() == "powersgd") return std::make_unique<PowerSgd>(1, /*rank=*/4, /*seed=*/5);
    return std::make_unique<TopK>(1, /*share=*/0.1);
  }
  // Returns `gradient` as it arrives, sent as parameter 3.
  static at::Tensor Sent(Compressor& compressor, const at::Tensor& gradient, int64_t step,
                         Compressor::Sends sends = Compressor::Sends::kLess) {
    Alone exchange;
    const at::Tensor out = gradient.clone();
    compressor.BeginStep(step, sends);
    compressor.Reduce({{3, out}}, exchange);
    return out;
  }
};

TEST_P(CompressorTest, ThePartThatAStepLeavesOutArrivesLater) {
  const at::Tensor gradient = Random(48, 32);
  const auto compressor = Make();
  at::Tensor with = at::zeros_like(gradient), without = at::zeros_like(gradient);
  constexpr int kSteps = 200;
  for (int step = 1; step <= kSteps; ++step) {
    with += Sent(*compressor, gradient, step) / kSteps;
    without += Sent(*Make(), gradient, step) / kSteps;
  }
  EXPECT_LT(NormOf(with - gradient), 0.1 * NormOf(gradient));
  EXPECT_GT(NormOf(without - gradient), 0.5 * NormOf(gradient));
}

TEST_P(CompressorTest, AFullStepSendsTheLeftOutPartAndTheNextIsAsAfterAResume) {
  const at::Tensor gradient = Random(48, 32);
  const auto compressor = Make();
  at::Tensor sum = at::zeros_like(gradient);
  for (int step = 1; step <= 6; ++step) sum += Sent(*compressor, gradient, step);
  EXPECT_GT(NormOf(sum - 6 * gradient), 0.5 * NormOf(gradient));
  sum += Sent(*compressor, gradient, 7, Compressor::Sends::kWhole);
  EXPECT_LT(NormOf(sum - 7 * gradient), 1e-5 * NormOf(sum));
  EXPECT_TRUE(at::equal(Sent(*compressor, gradient, 8), Sent(*Make(), gradient, 8)));
  compressor->Restart();
  EXPECT_TRUE(at::equal(Sent(*compressor, gradient, 9), Sent(*Make(), gradient, 9)));
}

TEST_P(CompressorTest, AStepThatIsNotFiniteIsSeenAndCarriesNothingOver) {
  const at::Tensor gradient = Random(48, 32);
  const auto compressor = Make();
  const auto beside = Make();
  for (int step = 1; step <= 3; ++step) {
    Sent(*compressor, gradient, step);
    Sent(*beside, gradient, step);
  }
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    at::Tensor broken = gradient.clone();
    broken[5][9] = bad;
    EXPECT_FALSE(at::isfinite(Sent(*compressor, broken, 4)).all().item<bool>());
  }
  EXPECT_TRUE(at::equal(Sent(*compressor, gradient, 5), Sent(*beside, gradient, 5)));
}

TEST_P(CompressorTest, TheCarriedPartFollowsTheParameterIntoOtherBuckets) {
  const auto one = Make();
  const auto other = Make();
  for (int step = 1; step <= 4; ++step) {
    Alone exchange;
    const at::Tensor a = Random(48, 32, 100 + static_cast<uint64_t>(step));
    const at::Tensor b = Random(32, 48, 200 + static_cast<uint64_t>(step));
    const at::Tensor a_split = a.clone(), b_split = b.clone();
    one->BeginStep(step, Compressor::Sends::kLess);
    one->Reduce({{0, a}, {1, b}}, exchange);
    other->BeginStep(step, Compressor::Sends::kLess);
    other->Reduce({{1, b_split}}, exchange);
    other->Reduce({{0, a_split}}, exchange);
    EXPECT_TRUE(at::equal(a, a_split)) << "step " << step;
    EXPECT_TRUE(at::equal(b, b_split)) << "step " << step;
  }
}

TEST_P(CompressorTest, VectorsAndSmallMatricesAreSentUncompressedInAtMostTwoMessages) {
  const at::Tensor vector = Random(1, 32).view({32}), small = Random(2, 2);
  const at::Tensor vector_before = vector.clone(), small_before = small.clone();
  const at::Tensor large = Random(48, 32), larger = Random(64, 32);
  const auto compressor = Make();
  compressor->BeginStep(1, Compressor::Sends::kLess);
  Alone exchange;
  const std::vector<Compressor::Item> items = {{0, vector}, {1, large}, {2, small}, {3, larger}};
  const Compressor::Bytes sent = compressor->Sent(items);
  compressor->Reduce(items, exchange);
  EXPECT_TRUE(at::equal(vector, vector_before));
  EXPECT_EQ(exchange.messages, 2);
  if (GetParam() == "powersgd") {
    EXPECT_TRUE(at::equal(small, small_before));
    EXPECT_EQ(sent.averaged, 4u * (32 + 4 + 4 * (48 + 32) + 4 * (64 + 32)));
    EXPECT_EQ(sent.gathered, 0u);
  } else {
    EXPECT_EQ(sent.averaged, 4u * 32);
    EXPECT_EQ(sent.gathered, 8u * (1 + 154 + 205)) << "a tenth, rounded up";
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, CompressorTest, ::testing::Values("powersgd", "topk"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace dt::trainer
