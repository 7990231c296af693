// agreement.h: checks that ranks with copies of the same parameters hold the same bits. A bit flip
// in one rank's memory, or an arithmetic fault, shows as a difference.
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

// Hashes the bits of fp32 tensors on their device. A change of any single bit changes the hash, and
// so does an exchange of two values. Waits for the device.
uint64_t HashBits(const std::vector<at::Tensor>& tensors);

// Compares hashes within each set. `hashes`: of every rank, in order; `sets`: see Strategy::Copies.
// The error names the ranks that differ from the majority of their set; without a majority, all
// ranks, grouped by hash.
absl::Status CheckAgreement(const std::vector<uint64_t>& hashes, const std::vector<int64_t>& sets,
                            int64_t step);

// Compares the copies of all ranks. Every rank calls it after the same step and gets the same
// answer.
absl::Status CompareParameters(Mesh& mesh, const std::vector<Strategy::Copies>& copies,
                               int64_t step);

}  // namespace dt::trainer
