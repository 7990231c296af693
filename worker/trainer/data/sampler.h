// sampler.h: the samples of each step, as a pure function of (seed, sample number).
//
// Role:      pure. A sample is a number counted from 0 over the full run, epoch after epoch. A
//            window is a position in the data. Neither depends on the world size, so a trial may
//            continue with another number of ranks and see the same data in the same order.
// Units:     a sample or a window is a sequence of seq_len + 1 tokens.
// Invariant: each window is seen exactly once per epoch.
// Tests:     tests/worker/trainer/data/data_test.cc
#pragma once

#include <cstdint>
#include <vector>

#include "common/status.h"

namespace dt::trainer {

enum class SampleOrder {
  kSequential,  // file order, like llm.c and nanoGPT
  kShuffled,    // a new permutation each epoch
};

class Sampler {
 public:
  // REQUIRES: windows > 0.
  Sampler(SampleOrder order, uint64_t seed, uint64_t windows);

  uint64_t windows() const { return windows_; }
  // Returns the window of sample number `sample`.
  uint64_t Window(uint64_t sample) const;

 private:
  uint64_t Permute(uint64_t epoch, uint64_t position) const;

  SampleOrder order_;
  uint64_t seed_;
  uint64_t windows_;
  int half_bits_;  // the permutation works on numbers of 2 × half_bits_ bits
};

// Division of one optimizer step into micro-steps and data-parallel ranks.
struct BatchPlan {
  int64_t micro_batch = 1;   // sequences per data-parallel rank and micro-step
  int64_t global_batch = 1;  // sequences per optimizer step, over all ranks
  int32_t world_size = 1;    // number of data-parallel ranks
  int32_t rank = 0;          // index among the data-parallel ranks
  // Micro-steps of each data-parallel rank, at least one each. Their sum follows from global_batch.
  // Empty: all ranks have the same number.
  std::vector<int64_t> shares = {};

  // Errors: ConfigError when the global batch is not a multiple of micro_batch × world_size.
  absl::Status Check() const;
  // Returns the micro-steps per rank, on average. REQUIRES: Check().
  int64_t micro_steps() const { return global_batch / (micro_batch * world_size); }
  int64_t own_micro_steps() const {
    return shares.empty() ? micro_steps() : shares[static_cast<size_t>(rank)];
  }
  // Returns the number of this micro-batch among the micro-batches of all ranks in a step. They are
  // dealt round-robin, micro-step by micro-step as in llm.c, to the ranks that still have one to
  // do.
  int64_t MicroBatch(int64_t micro_step) const;
  // Returns the first of the micro_batch consecutive samples of this rank. Step s covers samples
  // [s × global_batch, (s + 1) × global_batch) over all ranks, whatever the shares.
  uint64_t FirstSample(uint64_t step, int64_t micro_step) const {
    return step * static_cast<uint64_t>(global_batch) +
           static_cast<uint64_t>(MicroBatch(micro_step) * micro_batch);
  }
};

// Returns the number of complete optimizer steps in `epochs` passes over the windows: at least 1,
// at most 2^53 - 1, more than any run can do.
uint64_t StepsOfEpochs(double epochs, uint64_t windows, int64_t global_batch);

}  // namespace dt::trainer
