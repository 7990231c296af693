// tensor_count.h: the bytes of all tensors in host memory, counted where they are allocated and
// freed. What the system says of a process also has code, buffers and the heap's reserve, which
// hide a small model.
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

// Counts from here on, tensors that are allocated from here on. Once a process.
void CountTensors();
TensorBytes CountedTensors();
void RestartTensorPeak();

}  // namespace dt::trainer
