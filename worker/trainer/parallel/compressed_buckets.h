// compressed_buckets.h: averages the Reducer's buckets with a compressor.
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

// `parameters`: all parameters that appear in buckets, in the same order on every rank.
std::shared_ptr<BucketReduction> MakeCompressedAverage(std::shared_ptr<Compressor> compressor,
                                                       std::shared_ptr<Group> group,
                                                       const std::vector<at::Tensor>& parameters);

}  // namespace dt::trainer
