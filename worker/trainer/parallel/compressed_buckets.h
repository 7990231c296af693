// compressed_buckets.h: the Reducer's buckets averaged by a compressor.
//
// Ownership: shares compressor and group.
// Threads:   those of BucketReduction.
// Errors:    LibTorch's exceptions pass through.
// Tests:     tests/worker/trainer/run/wire_test.cc
#pragma once

#include <memory>
#include <vector>

#include "worker/trainer/parallel/bucket_thread.h"
#include "worker/trainer/parallel/compressor.h"
#include "worker/trainer/parallel/group.h"

namespace dt::trainer {

// `parameters`: all that come in buckets, on every rank in the same order.
std::shared_ptr<BucketReduction> MakeCompressedAverage(std::shared_ptr<Compressor> compressor,
                                                       std::shared_ptr<Group> group,
                                                       const std::vector<at::Tensor>& parameters);

}  // namespace dt::trainer
