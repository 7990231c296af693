// tensor_count.h: allocates tensors in host memory, large ones from a pool of blocks
// (block_pool.h), and counts the bytes of all of them. The system's figures for a process include
// code, buffers and the heap's reserve, which hide a small model.
//
// Threads: any.
// Tests:   tests/worker/trainer/run/strategy_test.cc
#pragma once

#include <cstdint>

namespace dt::trainer {

struct TensorBytes {
  uint64_t held = 0;  // now
  uint64_t peak = 0;  // maximum since RestartTensorPeak
};

// Counts and pools the tensors that are allocated from now on. Call once per process.
void CountTensors();
TensorBytes CountedTensors();
void RestartTensorPeak();
// Gives the kept blocks back to the system.
void ReleaseKeptBlocks();

}  // namespace dt::trainer
