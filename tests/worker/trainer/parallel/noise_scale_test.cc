// noise_scale_test.cc: the estimate from exact expectations, and the measurement on one rank.
#include "worker/trainer/parallel/noise_scale.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "worker/trainer/parallel/local_gradient.h"

namespace dt::trainer {
namespace {

// A true gradient of squared norm 4, and noise with a total variance of 100 for a batch of 1: a
// batch of b has a squared norm of 4 + 100 / b on average.
double Squared(double batch) { return 4 + 100 / batch; }

TEST(NoiseScaleTest, FindsTheQuotientOfNoiseAndSignal) {
  NoiseScale scale;
  EXPECT_EQ(scale.Value(), std::nullopt);
  scale.Add(8, Squared(8), 64, Squared(64));
  ASSERT_TRUE(scale.Value());
  EXPECT_NEAR(*scale.Value(), 25, 1e-9);
  // Other batch sizes measure the same.
  for (int i = 0; i < 500; ++i) scale.Add(2, Squared(2), 6, Squared(6));
  EXPECT_NEAR(*scale.Value(), 25, 1e-9);
}

TEST(NoiseScaleTest, SmoothsTheErrorsOfSingleSteps) {
  NoiseScale scale;
  for (int i = 0; i < 1000; ++i) {
    const double off = i % 2 == 0 ? 5 : -5;  // a signal of 9.7 and of -1.7
    scale.Add(8, Squared(8), 64, Squared(64) + off);
  }
  EXPECT_NEAR(*scale.Value(), 25, 2);
}

TEST(NoiseScaleTest, IsUnknownIfItCannotBeEstimated) {
  NoiseScale scale;
  scale.Add(8, 5, 8, 5);  // not a larger batch
  EXPECT_EQ(scale.Value(), std::nullopt);
  scale.Add(8, std::nan(""), 64, std::nan(""));
  EXPECT_EQ(scale.Value(), std::nullopt);
  scale.Add(8, 5, 64, 5);  // no noise
  EXPECT_EQ(scale.Value(), std::nullopt);
  NoiseScale noisy;
  noisy.Add(8, 5, 64, 0.1);  // the signal is below 0
  EXPECT_EQ(noisy.Value(), std::nullopt);
}

TEST(LocalGradientTest, SumsOverBucketsIfRequested) {
  std::vector<Piece> pieces(2);
  for (Piece& piece : pieces) piece.value = at::zeros({4});
  LocalGradient local(pieces, {});
  const at::Tensor one = at::full({3}, 2.0), other = at::full({4}, 3.0);
  local.Restart(true);
  local.Add({{0, one}});
  local.AddBucket(other, {pieces[1].value}, {other});
  EXPECT_FLOAT_EQ(local.SquaredNorm().item<float>(), 3 * 4 + 4 * 9);
  local.Restart(false);
  local.Add({{0, one}});
  EXPECT_EQ(local.SquaredNorm().item<float>(), 0);
}

}  // namespace
}  // namespace dt::trainer
