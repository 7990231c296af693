// fake_cuda.h: CUDA's libraries without a GPU: a program's calls are noted, and with values.h also
// computed, so that the trainer's CUDA part runs on any machine.
//
// Role:    a library that defines LibTorch's part of the CUDA runtime, cuBLAS, cuDNN and NCCL, and
//          empty libraries with NVIDIA's names. A program that links them never loads the real
//          ones. Device memory is the host's, streams run at once, kernels are counted and not run.
//          Other functions that LibTorch could call are not defined: a call ends the program with
//          the symbol's name.
// Threads: any.
// Limits:  no arithmetic or speed of a device, no race between streams, no plan that cuDNN lacks.
// Tests:   tests/fake_cuda, and tests/gpu as gpu_fake_test
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dt::fake_cuda {

enum class Kind {
  kLaunch,      // of a kernel
  kProduct,     // of matrices, by cuBLAS
  kPlan,        // of cuDNN; what: made, run
  kCopy,        // `what` is H2D, D2H or D2D
  kFill,        // memset
  kWait,        // of the host for the device
  kAllocation,  // of device memory or of pinned memory
  kCollective,  // of NCCL; what: name and element type
  kFault,       // a call that a device would refuse or answer wrongly
};

struct Call {
  Kind kind = Kind::kLaunch;
  std::string what;
  uint64_t bytes = 0;
  int stream = 0;         // 0: a device's default stream
  bool pageable = false;  // a copy from or to memory that is not pinned: the host waits for it
};

// Returns the calls since the last TakeCalls. With DTRAIN_FAKE_CUDA_CALLS=FILE each call is also a
// line of FILE.PID.
std::vector<Call> TakeCalls();

// The machine's hardware. First read from the environment: DTRAIN_FAKE_CUDA_DEVICES and _GIB.
struct Machine {
  int devices = 1;
  uint64_t memory_bytes = 80ull << 30;
  // Kernels are computed (values.h). Otherwise memory holds no values: large copies and fills are
  // left out, and a flag that is read back is true.
  bool computes = false;
  bool cudnn_has_plans = true;
  bool takes_ptx = true;  // false: its driver is older than our kernels
};
Machine& TheMachine();

// Returns the devices with a context, whose memory is therefore in use.
std::vector<int> Contexts();

// Moves a stream's clock, which events record, by `seconds`. Null: the default stream.
void PassTime(void* stream, double seconds);

}  // namespace dt::fake_cuda
