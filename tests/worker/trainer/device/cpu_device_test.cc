// cpu_device_test.cc: what a CPU slot asks of the libraries underneath.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "worker/trainer/device/device.h"

namespace dt::trainer {
namespace {

TEST(CpuDeviceTest, MklIsToldByTheProgramToGoByTheProcessorNotByItsMaker) {
  ASSERT_TRUE(OpenCpu()->Torch().is_cpu());
  // The definition that the dynamic linker gives LibTorch as well.
  void* const answer = dlsym(RTLD_DEFAULT, "mkl_serv_intel_cpu_true");
  ASSERT_NE(answer, nullptr);
  Dl_info facts{};
  ASSERT_NE(dladdr(answer, &facts), 0);
  EXPECT_TRUE(std::filesystem::equivalent(facts.dli_fname, "/proc/self/exe")) << facts.dli_fname;
  EXPECT_EQ(reinterpret_cast<int (*)()>(answer)(), 1);
}

}  // namespace
}  // namespace dt::trainer
