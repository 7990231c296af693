// flops_test.cc: the floating-point operations of known models, and the peaks of known devices.
#include "worker/trainer/trial/flops.h"

#include <gtest/gtest.h>

#include "tests/worker/trainer/gpt2_trial.h"

namespace dt::trainer {
namespace {

TEST(FlopsTest, CountsFlopsOfKnownModels) {
  // 741.4M in matrix products and 66.1M in attention.
  EXPECT_NEAR(FlopsPerToken(Gpt2Trial().model, 1024), 807.5e6, 0.1e6);
  ModelSpec tiny = Gpt2Trial().model;
  tiny.n_layer = 5;
  tiny.n_embd = 300;
  tiny.n_ff = 2048;
  tiny.vocab_pad = 50257;
  EXPECT_NEAR(FlopsPerToken(tiny, 0), 138.1e6, 0.1e6);
  EXPECT_NEAR(FlopsPerToken(tiny, 256) - FlopsPerToken(tiny, 0), 7 * 300 * 256 * 5, 1);
}

TEST(FlopsTest, KnowsDevicesByTheirFullNames) {
  const auto peak = [](const char* name, Compute compute = Compute::kBf16) {
    return PeakFlops(name, compute).value_or(0) / 1e12;
  };
  EXPECT_EQ(peak("NVIDIA H100 80GB HBM3"), 989);
  EXPECT_EQ(peak("NVIDIA H100 80GB HBM3", Compute::kTf32), 494.7);
  EXPECT_EQ(peak("NVIDIA H100 80GB HBM3", Compute::kFp32), 67);
  EXPECT_EQ(peak("NVIDIA H100 80GB HBM3", Compute::kFp16), 989);
  EXPECT_EQ(peak("NVIDIA H100 PCIe"), 756);
  EXPECT_EQ(peak("NVIDIA H200"), 989);
  EXPECT_EQ(peak("NVIDIA A100-SXM4-80GB"), 312);
  EXPECT_EQ(peak("NVIDIA A10"), 125);
  EXPECT_EQ(peak("NVIDIA A10G"), 0) << "another device";
  EXPECT_EQ(peak("NVIDIA L40S"), 362);
  EXPECT_EQ(peak("NVIDIA H100 80GB HBM3 MIG 1g.10gb"), 0) << "a part of one";
  EXPECT_EQ(peak("Intel(R) Xeon(R) Processor"), 0);
  EXPECT_EQ(peak(""), 0);
}

}  // namespace
}  // namespace dt::trainer
