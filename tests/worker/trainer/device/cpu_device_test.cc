// cpu_device_test.cc: settings that a CPU slot makes in the libraries below.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "worker/trainer/device/device.h"

namespace dt::trainer {
namespace {

TEST(CpuDeviceTest, MklChoosesByTheProcessorNotByItsVendor) {
  ASSERT_TRUE(OpenCpu()->Torch().is_cpu());
  // The dynamic linker gives LibTorch the same definition.
  void* const answer = dlsym(RTLD_DEFAULT, "mkl_serv_intel_cpu_true");
  ASSERT_NE(answer, nullptr);
  Dl_info facts{};
  ASSERT_NE(dladdr(answer, &facts), 0);
  EXPECT_TRUE(std::filesystem::equivalent(facts.dli_fname, "/proc/self/exe")) << facts.dli_fname;
  EXPECT_EQ(reinterpret_cast<int (*)()>(answer)(), 1);
}

TEST(DeviceTest, ATrainerBesideAGpuGetsFewThreadsByDefault) {
  EXPECT_EQ(HostThreads({.word = "cpu"}), 0) << "all cores of its slot";
  EXPECT_EQ(HostThreads({.word = "cuda:3"}), 2);
  EXPECT_EQ(HostThreads({.word = "cuda:3", .threads = 5}), 5);
}

TEST(DeviceTest, AFailedSearchForAGpuLeavesTheThreadsOfTheCpuAlone) {
  at::set_num_threads(3);
  if (OpenDevice({.word = "cuda:0"}).ok()) GTEST_SKIP() << "a GPU is here";
  EXPECT_EQ(at::get_num_threads(), 3);
}

TEST(CpuDeviceTest, UnderALimitACopyMayUseMemoryThatTrainingNeverUsed) {
  const pid_t child = fork();
  if (child == 0) {
    constexpr uint64_t kLimit = uint64_t{2} << 30, kUsed = uint64_t{1} << 30;
    const rlimit limit{kLimit, kLimit};
    if (setrlimit(RLIMIT_DATA, &limit) != 0) _exit(1);
    const uint64_t before = SpareHostBytes();
    if (before == 0 || before >= kLimit) _exit(2);
    if (mmap(nullptr, kUsed, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
        MAP_FAILED) {
      _exit(3);
    }
    _exit(SpareHostBytes() <= kLimit - kUsed ? 0 : 4);
  }
  ASSERT_GT(child, 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0) << "which check it was";
}

}  // namespace
}  // namespace dt::trainer
