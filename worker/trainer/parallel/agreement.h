// agreement.h: whether ranks that hold copies of the same parameters hold them bit for bit. A
// flipped bit in one's memory, or a fault of its arithmetic, shows as a difference.
//
// Threads: the training thread.
// Errors:  DamagedError, which is retried from a checkpoint; LibTorch's exceptions pass through.
// Tests:   tests/worker/trainer/parallel/agreement_test.cc,
//          tests/worker/trainer/run/bit_flip_test.cc
#pragma once

#include <cstdint>
#include <vector>

#include "worker/trainer/parallel/mesh.h"
#include "worker/trainer/parallel/strategy.h"

namespace dt::trainer {

// Hashes the bits of fp32 tensors where they are. A change of any one bit changes it, and so
// does an exchange of two values. Waits for the device.
uint64_t HashBits(const std::vector<at::Tensor>& tensors);

// `hashes`: of every rank, in order; `sets`: as of Strategy::Copies. Names those that differ from
// the majority of their set; where there is none, all of them, those that agree together.
absl::Status CheckAgreement(const std::vector<uint64_t>& hashes, const std::vector<int64_t>& sets,
                            int64_t step);

// Every rank calls it after the same step and gets the same answer.
absl::Status CompareParameters(Mesh& mesh, const std::vector<Strategy::Copies>& copies,
                               int64_t step);

}  // namespace dt::trainer
