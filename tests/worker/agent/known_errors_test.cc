// known_errors_test.cc: the fixes for errors as Python, PyTorch, CUDA and shells print them.
#include "worker/agent/known_errors.h"

#include <string>
#include <utility>

#include "gtest/gtest.h"

namespace dt {
namespace {

TEST(KnownErrorsTest, EachKindOfErrorHasItsFix) {
  const std::pair<const char*, const char*> kCases[] = {
      {"ModuleNotFoundError: No module named 'timm'", "install it for the interpreter"},
      {"ImportError: cannot import name 'Trainer' from 'transformers'", "in another version"},
      {"ImportError: libcudart.so.12: cannot open shared object file: No such file or directory",
       "LD_LIBRARY_PATH"},
      {"FileNotFoundError: [Errno 2] No such file or directory: 'data/train.csv'", "set code or"},
      {"python3: can't open file '/tmp/x/train.py': [Errno 2] No such file or directory",
       "set code or workdir"},
      {"train.py: error: unrecognized arguments: --lrr=0.1", "remove the parameter"},
      {"train.py: error: the following arguments are required: --data", "add the argument"},
      {"PermissionError: [Errno 13] Permission denied: '/data/out'", "the worker's user"},
      {"OSError: [Errno 28] No space left on device", "a disk of the worker is full"},
      {"RuntimeError: DataLoader worker (pid 7) is killed by signal: Bus error.", "/dev/shm"},
      {"sh: 1: trian: command not found", "PATH is the worker's"},
      {"[rank1]: torch.distributed.DistNetworkError: EADDRINUSE, address already in use",
       "MASTER_PORT"},
      {"RuntimeError: CUDA error: no kernel image is available for execution on the device",
       "compute capability"},
      {"RuntimeError: Found no NVIDIA driver on your system.", "device: cuda"},
      {"RuntimeError: CUDA error: device-side assert triggered", "out of range"},
      {"RuntimeError: CUDA error: an illegal memory access was encountered", "Xid"},
      {"RuntimeError: CUDA error: uncorrectable ECC error encountered", "drain the worker"},
      {"torch.distributed.DistBackendError: NCCL error in: ../NCCLUtils.hpp:219", "NCCL_DEBUG"},
      {"RuntimeError: [1] is setting up NCCL communicator: Connection reset by peer", "first rank"},
      {"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", "the batch"},
      {"MemoryError: Unable to allocate 80.0 GiB for an array", "the host's memory"},
  };
  for (const auto& [error, fix] : kCases) {
    EXPECT_NE(std::string(FixFor(error)).find(fix), std::string::npos)
        << error << "\n  " << FixFor(error);
  }
}

TEST(KnownErrorsTest, AnUnknownErrorHasNoFix) {
  EXPECT_EQ(FixFor("ValueError: shapes (3,4) and (5,) differ"), "");
  EXPECT_EQ(FixFor("requests.exceptions.ConnectionError: Connection reset by peer"), "");
  EXPECT_EQ(FixFor(""), "");
}

TEST(KnownErrorsTest, AFullDeviceIsDistinguishedFromAFullHost) {
  EXPECT_TRUE(SaysDeviceMemoryIsFull("torch.cuda.OutOfMemoryError: CUDA out of memory."));
  EXPECT_TRUE(SaysDeviceMemoryIsFull("torch.OutOfMemoryError: XPU out of memory."));
  EXPECT_TRUE(SaysDeviceMemoryIsFull("RESOURCE_EXHAUSTED: Out of memory while trying to allocate"));
  EXPECT_FALSE(SaysDeviceMemoryIsFull("MemoryError"));
  EXPECT_FALSE(SaysDeviceMemoryIsFull("RuntimeError: CUDA error: unspecified launch failure"));
}

}  // namespace
}  // namespace dt
