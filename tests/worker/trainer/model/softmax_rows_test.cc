// softmax_rows_test.cc: each thread's part of the GPU's kernel for the loss, run on a CPU one
// thread after another between the barriers, against plain sums in fp64.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace {

struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(8) ushort4 {
  unsigned short x, y, z, w;
};

#define DT_DEVICE
#include "worker/trainer/device/cuda/softmax_rows_kernel.inc"

struct Row {
  std::vector<float> gradient;
  float loss = 0;
};

// Runs a block as softmax_rows.cu does.
Row RunBlock(const std::vector<float>& logits, long long target) {
  const int columns = static_cast<int>(logits.size());
  // Exact sizes, so that a sanitizer notices an access beyond the end.
  std::vector<float4> in(logits.size() / 4);
  std::memcpy(in.data(), logits.data(), logits.size() * sizeof(float));
  std::vector<ushort4> out(in.size());
  std::vector<SoftmaxPart> parts(kSoftmaxThreads);
  for (int t = 0; t < kSoftmaxThreads; ++t) parts[t] = SoftmaxSeen(in.data(), columns, t);
  for (int stride = kSoftmaxThreads / 2; stride > 0; stride /= 2) {
    for (int t = 0; t < kSoftmaxThreads; ++t) SoftmaxJoin(parts.data(), t, stride);
  }
  Row row;
  for (int t = 0; t < kSoftmaxThreads; ++t) {
    SoftmaxWrite(in.data(), columns, target, parts[0], t, out.data(), &row.loss);
  }
  const auto widened = [](unsigned short bits) {
    const uint32_t wide = static_cast<uint32_t>(bits) << 16;
    float value = 0;
    std::memcpy(&value, &wide, sizeof(value));
    return value;
  };
  for (const ushort4& four : out) {
    for (const unsigned short bits : {four.x, four.y, four.z, four.w}) {
      row.gradient.push_back(widened(bits));
    }
  }
  return row;
}

std::vector<float> Drawn(size_t columns, float deviation) {
  std::mt19937 generator(static_cast<unsigned>(columns));
  std::normal_distribution<float> normal(0, deviation);
  std::vector<float> logits(columns);
  for (float& logit : logits) logit = normal(generator);
  return logits;
}

void ExpectIsSoftmax(const std::vector<float>& logits, long long target) {
  const Row row = RunBlock(logits, target);
  double most = -std::numeric_limits<double>::infinity(), sum = 0;
  for (const float x : logits) most = std::max<double>(most, x);
  for (const float x : logits) sum += std::exp(x - most);
  const double log_sum = most + std::log(sum);
  EXPECT_NEAR(row.loss, log_sum - logits[target], 2e-6 * std::max(1.0, std::abs(log_sum)));
  double worst = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    const double log = logits[i] - log_sum;
    const bool hit = static_cast<long long>(i) == target;
    const double wanted = hit ? std::expm1(log) : std::exp(log);
    // The target's value is a difference, as exact as fp32 represents the logarithm.
    const double exact = hit ? 4e-6 : 0;
    const double apart = std::max(std::abs(row.gradient[i] - wanted) - exact, 0.0);
    worst = std::max(worst, apart / (std::abs(wanted) + 1e-36));
  }
  // Half a unit in the last place of bf16, and a little for the exponential in fp32.
  EXPECT_LE(worst, 1.0 / 256 + 2e-5) << logits.size() << " columns";
}

TEST(SoftmaxRowsTest, GivesLossAndGradientOfRowsOfAnyLength) {
  for (const size_t columns : {4, 64, 320, 4096, 5056, 50304}) {
    for (const float deviation : {0.01f, 1.0f, 20.0f}) {
      const std::vector<float> logits = Drawn(columns, deviation);
      for (const size_t target : {size_t{0}, columns - 1}) {
        ExpectIsSoftmax(logits, static_cast<long long>(target));
      }
    }
  }
}

TEST(SoftmaxRowsTest, ColumnsOfMinusInfinityHaveNoShare) {
  std::vector<float> logits = Drawn(5056, 1);
  for (size_t i = 5000; i < logits.size(); ++i) {
    logits[i] = -std::numeric_limits<float>::infinity();
  }
  ExpectIsSoftmax(logits, 17);
  const Row row = RunBlock(logits, 17);
  for (size_t i = 5000; i < logits.size(); ++i) EXPECT_EQ(row.gradient[i], 0);
}

TEST(SoftmaxRowsTest, ASureTokenKeepsItsSmallGradient) {
  std::vector<float> logits(64, -9.0f);
  logits[5] = 1.0f;
  ExpectIsSoftmax(logits, 5);
  EXPECT_LT(RunBlock(logits, 5).gradient[5], -1e-3f);
}

TEST(SoftmaxRowsTest, ANonFiniteInputShowsInTheLoss) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float bad : {std::nanf(""), infinity}) {
    std::vector<float> logits = Drawn(320, 1);
    logits[200] = bad;
    const Row row = RunBlock(logits, 7);
    EXPECT_FALSE(std::isfinite(row.loss));
    EXPECT_TRUE(std::isnan(row.gradient[0]));
  }
}

TEST(SoftmaxRowsTest, ATargetThatIsNoColumnReadsNothingAndIsANan) {
  const std::vector<float> logits = Drawn(320, 1);
  for (const long long target : {-1ll, 320ll, 1ll << 40}) {
    EXPECT_TRUE(std::isnan(RunBlock(logits, target).loss)) << target;
  }
}

}  // namespace
