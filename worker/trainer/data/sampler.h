// sampler.h: which samples a step trains on, as a pure function of (seed, sample number).
//
// Role:      pure. A sample is a number counted from 0 over the whole run, epoch after epoch; a
//            window is a place in the data. Neither knows the world size, so that a trial may go on
//            with another number of ranks and see the same data in the same order.
// Units:     samples and windows are sequences of seq_len + 1 tokens.
// Invariant: each window is seen exactly once an epoch.
// Tests:     tests/worker/trainer/data/data_test.cc
#pragma once

#include <cstdint>
#include <vector>

#include "common/status.h"

namespace dt::trainer {

enum class SampleOrder {
  kSequential,  // as the files lie there, like llm.c and nanoGPT
  kShuffled,    // another permutation each epoch
};

class Sampler {
 public:
  // REQUIRES: windows > 0.
  Sampler(SampleOrder order, uint64_t seed, uint64_t windows);

  uint64_t windows() const { return windows_; }
  // The window of sample number `sample`.
  uint64_t Window(uint64_t sample) const;

 private:
  uint64_t Permute(uint64_t epoch, uint64_t position) const;

  SampleOrder order_;
  uint64_t seed_;
  uint64_t windows_;
  int half_bits_;  // the permutation works on numbers of 2 × half_bits_ bits
};

// How one optimizer step is cut into micro-steps and data ranks.
struct BatchPlan {
  int64_t micro_batch = 1;   // sequences per data rank and micro-step
  int64_t global_batch = 1;  // sequences per optimizer step, all ranks
  int32_t world_size = 1;    // data ranks
  int32_t rank = 0;          // among them
  // Micro-steps of each data rank, at least one, of a sum that global_batch says; empty: all have
  // as many.
  std::vector<int64_t> shares = {};

  // Errors: ConfigError when the global batch is not a multiple of micro_batch × world_size.
  absl::Status Check() const;
  // A rank's, in the mean. REQUIRES: Check().
  int64_t micro_steps() const { return global_batch / (micro_batch * world_size); }
  int64_t own_micro_steps() const {
    return shares.empty() ? micro_steps() : shares[static_cast<size_t>(rank)];
  }
  // Its number among those of all ranks in a step, which are dealt to the ranks in order,
  // micro-step by micro-step as llm.c does it, to those that have one more.
  int64_t MicroBatch(int64_t micro_step) const;
  // The first of the micro_batch consecutive samples of this rank. Step s of all ranks together
  // has samples [s × global_batch, (s + 1) × global_batch), whatever the shares.
  uint64_t FirstSample(uint64_t step, int64_t micro_step) const {
    return step * static_cast<uint64_t>(global_batch) +
           static_cast<uint64_t>(MicroBatch(micro_step) * micro_batch);
  }
};

// Optimizer steps of `epochs` passes over the windows: whole steps, at least one and at most
// 2^53 - 1, which no run sees the end of.
uint64_t StepsOfEpochs(double epochs, uint64_t windows, int64_t global_batch);

}  // namespace dt::trainer
