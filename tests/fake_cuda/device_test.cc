// device_test.cc: the trials and settings when a GPU is opened.
#include "worker/trainer/device/device.h"

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "tests/fake_cuda/fake_cuda.h"
#include "worker/trainer/device/cuda/attention.h"
#include "worker/trainer/device/cuda/row_kernels.h"
#include "worker/trainer/model/row_kernel.h"

namespace dt::trainer {
namespace {

using fake_cuda::TheMachine;

std::unique_ptr<Device> Open(const std::string& word) {
  absl::StatusOr<std::unique_ptr<Device>> opened = OpenDevice({.word = word});
  EXPECT_TRUE(opened.ok()) << opened.status();
  return opened.ok() ? *std::move(opened) : nullptr;
}

TEST(FakeDeviceTest, AGpuIsOpenedWithoutAContextOnAnother) {
  TheMachine().devices = 2;
  const std::unique_ptr<Device> device = Open("cuda:0");
  EXPECT_EQ(device->Facts().name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(fake_cuda::Contexts(), std::vector<int>{0});
}

TEST(FakeDeviceTest, AGpuThatIsNotThereIsRefusedInOneLine) {
  const auto opened = OpenDevice({.word = "cuda:7"});
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.status().message().find("GPUs, counted from 0"), std::string_view::npos);
  EXPECT_EQ(opened.status().message().find('\n'), std::string_view::npos) << opened.status();
}

TEST(FakeDeviceTest, WithoutACudnnPlanAttentionRunsWithoutCudnn) {
  Open("cuda:0");
  EXPECT_TRUE(at::globalContext().userEnabledCuDNNSDP());
  TheMachine().cudnn_has_plans = false;
  const absl::Status tried = TryAttention(c10::Device(c10::kCUDA, 0));
  TheMachine().cudnn_has_plans = true;
  EXPECT_FALSE(at::globalContext().userEnabledCuDNNSDP());
  at::globalContext().setSDPUseCuDNN(true);
  ASSERT_FALSE(tried.ok());
  EXPECT_EQ(tried.message().find('\n'), absl::string_view::npos) << "no stack: " << tried;
}

TEST(FakeDeviceTest, ARefusedKernelIsReportedInOneLineAndReplacedByTensorOperations) {
  Open("cuda:0");
  const c10::Device gpu(c10::kCUDA, 0);
  TheMachine().takes_ptx = false;
  const absl::Status offered = OfferRowKernel(gpu);
  TheMachine().takes_ptx = true;
  EXPECT_FALSE(RowKernelOf(gpu.type()));
  ASSERT_FALSE(offered.ok());
  EXPECT_EQ(offered.message().find('\n'), absl::string_view::npos) << "no stack: " << offered;
  EXPECT_TRUE(OfferRowKernel(gpu).ok());
  EXPECT_TRUE(RowKernelOf(gpu.type()));
}

TEST(FakeDeviceTest, AnErrorOfTheDeviceIsLeftToTheTrainingThread) {
  Open("cuda:0");
  const char* setting = std::getenv("TORCH_NCCL_RETHROW_CUDA_ERRORS");
  ASSERT_NE(setting, nullptr);
  EXPECT_STREQ(setting, "0") << "or NCCL's watchdog would end the process";
}

TEST(FakeDeviceTest, ATimelineHasTheTimesOfCapturedWork) {
  const std::unique_ptr<Device> device = Open("cuda:0");
  const c10::cuda::CUDAStreamGuard on(c10::cuda::getStreamFromPool());
  const std::unique_ptr<Timeline> timeline = device->NewTimeline();
  at::Tensor x = at::zeros({64}, at::TensorOptions(device->Torch()));
  at::cuda::CUDAGraph graph;
  graph.capture_begin();
  const Timeline::Moment from = timeline->Now();
  x.add_(1);
  const Timeline::Moment to = timeline->Now();
  graph.capture_end();
  graph.replay();
  device->Synchronize();
  EXPECT_GT(timeline->Seconds(from, to), 0);
}

}  // namespace
}  // namespace dt::trainer
