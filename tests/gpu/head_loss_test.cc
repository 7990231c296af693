// head_loss_test.cc: the head for GPUs on a GPU, against the same on a CPU and against PyTorch's
// own operations there.
#include "worker/trainer/model/head_loss.h"

#include <gtest/gtest.h>

#include "worker/trainer/device/device.h"
#include "worker/trainer/model/chunked_head_loss.h"
#include "worker/trainer/model/row_kernel.h"
#include "worker/trainer/precision/precision.h"

namespace dt::trainer {
namespace {

constexpr int64_t kColumns = 50257, kRows = 50304;

// As in training: without it, gradients of a mean over 1200 rows are too small for fp16.
constexpr double kLossScale = 16384;

struct Measured {
  double loss = 0;
  std::vector<at::Tensor> gradients;  // of the scaled loss, on the CPU
};

class GpuHeadLossTest : public ::testing::TestWithParam<Compute> {
 protected:
  void SetUp() override {
    static const absl::StatusOr<std::unique_ptr<Device>> gpu = OpenDevice({.word = "cuda:0"});
    if (!gpu.ok()) GTEST_SKIP() << gpu.status();
    device_ = (*gpu)->Torch();
  }
  // Computes `loss` of inputs that are made on the CPU and moved.
  template <typename Loss>
  Measured Measure(c10::Device device, const Loss& loss) {
    at::Generator generator = at::detail::createCPUGenerator(11);
    const auto input = [&](at::IntArrayRef shape) {
      return at::randn(shape, generator).mul_(0.3).to(device).requires_grad_();
    };
    const at::Tensor hidden = input({4, 300, 44}), weight = input({kRows, 44}),
                     bias = input({kRows});
    const at::Tensor targets = at::randint(kColumns, {4, 300}, generator, at::kLong).to(device);
    const at::Tensor made = loss(hidden, Head{weight, bias, kColumns}, targets);
    made.backward(at::full_like(made, kLossScale));
    Measured measured{made.template item<double>(), {}};
    for (const at::Tensor& leaf : {hidden, weight, bias}) {
      measured.gradients.push_back(leaf.grad().to(at::kCPU));
    }
    return measured;
  }
  static void ExpectAlike(const Measured& got, const Measured& expected, double tolerance) {
    EXPECT_NEAR(got.loss, expected.loss, tolerance);
    for (size_t i = 0; i < got.gradients.size(); ++i) {
      const double apart = (got.gradients[i] - expected.gradients[i]).norm().item<double>();
      EXPECT_LE(apart, tolerance * expected.gradients[i].norm().item<double>()) << "gradient " << i;
    }
  }
  at::ScalarType Type() const { return AutocastType(GetParam()).value_or(at::kFloat); }

  c10::Device device_ = at::kCPU;
};

TEST_P(GpuHeadLossTest, EqualsACpus) {
  SetMatmulPrecision(Compute::kFp32, device_.type());
  const auto chunked = [&](const auto&... inputs) { return ChunkedHeadLoss(inputs..., Type()); };
  // Only the order of sums differs, and thus the rounding of the logits' gradient.
  ExpectAlike(Measure(device_, chunked), Measure(at::kCPU, chunked),
              Type() == at::kFloat ? 1e-5 : 2e-3);
}

TEST_P(GpuHeadLossTest, EqualsPyTorchsOwnOperations) {
  SetMatmulPrecision(GetParam(), device_.type());
  const Measured ours = Measure(device_, [&](const auto&... inputs) {
    const AutocastScope autocast(GetParam(), device_.type());
    return FusedHeadLoss(inputs...);
  });
  const auto plain = [&](const at::Tensor& hidden, const Head& head, const at::Tensor& targets) {
    const AutocastScope autocast(GetParam(), device_.type());
    const at::Tensor logits = at::linear(hidden, head.weight, head.bias).flatten(0, 1);
    return at::cross_entropy_loss(logits.slice(1, 0, kColumns), targets.flatten());
  };
  const Measured theirs = Measure(device_, plain);
  ExpectAlike(ours, theirs, GetParam() == Compute::kFp32 ? 1e-5 : 1e-2);
}

TEST_P(GpuHeadLossTest, OurKernelIsInUseAndEqualsTensorOperations) {
  const RowKernel kernel = RowKernelOf(at::kCUDA);
  ASSERT_TRUE(kernel) << "stderr says why";
  const auto chunked = [&](const auto&... inputs) { return ChunkedHeadLoss(inputs..., Type()); };
  const Measured with = Measure(device_, chunked);
  SetRowKernel(at::kCUDA, {});
  const Measured without = Measure(device_, chunked);
  SetRowKernel(at::kCUDA, kernel);
  ExpectAlike(with, without, 1e-3);  // a rounding to bf16 may go the other way
}

INSTANTIATE_TEST_SUITE_P(Precisions, GpuHeadLossTest,
                         ::testing::Values(Compute::kFp32, Compute::kTf32, Compute::kBf16,
                                           Compute::kFp16));

}  // namespace
}  // namespace dt::trainer
