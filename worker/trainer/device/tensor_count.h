// tensor_count.h: where tensors of host memory come from, large ones from a pool of blocks
// (block_pool.h), and the bytes of all of them, counted where they are allocated and freed. What
// the system says of a process also has code, buffers and the heap's reserve, which hide a small
// model.
//
// Threads: any.
// Tests:   tests/worker/trainer/run/strategy_test.cc
#pragma once

#include <cstdint>

namespace dt::trainer {

struct TensorBytes {
  uint64_t held = 0;  // now
  uint64_t peak = 0;  // the most since RestartTensorPeak
};

// Counts from here on, tensors that are allocated from here on, and pools them. Once a process.
void CountTensors();
TensorBytes CountedTensors();
void RestartTensorPeak();
// Gives the system the blocks that are kept for other tensors.
void ReleaseKeptBlocks();

}  // namespace dt::trainer
