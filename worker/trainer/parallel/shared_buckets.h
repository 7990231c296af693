// shared_buckets.h: the Reducer's buckets in memory that the ranks of one host share, and their
// average there: no copy, no socket.
//
// Role:      stands in for timed_all_reduce.h's hook where Group::ShareMemory gave memory.
// Ownership: a placed bucket keeps the memory alive as long as any view of it is.
// Errors:    a bucket's future carries kCollective as c10::DistError.
// Tests:     tests/worker/trainer/parallel/host/host_reduce_test.cc,
//            tests/worker/trainer/run/attempt_test.cc
#pragma once

#include <memory>

#include "worker/trainer/parallel/bucket_thread.h"
#include "worker/trainer/parallel/host/host_reduce.h"

namespace c10d {
class Reducer;
}  // namespace c10d

namespace dt::trainer {

// What a bucket of so many numbers takes: buckets begin on cache lines, so that no line is written
// for two buckets at once.
constexpr size_t SharedFloats(int64_t floats) { return (static_cast<size_t>(floats) + 15) & ~15u; }

// Moves what a tensor lies in, contents left behind, to `place` in the memory. What is a view of it
// goes along.
void PlaceStorage(const at::Tensor& tensor, const std::shared_ptr<HostMemory>& memory,
                  float* place);

// Moves the buckets, contents left behind, into this rank's part, in order. Every rank has the same
// layout. Nothing else may be in the part any more.
void PlaceBuckets(const c10d::Reducer& reducer, const std::shared_ptr<HostMemory>& memory,
                  int rank);

// Averages them there, on a thread of its own (bucket_thread.h). REQUIRES: buckets placed by
// PlaceBuckets, and every post of `reduce` made by it.
std::shared_ptr<BucketReduction> MakeSharedAverage(std::shared_ptr<HostReduce> reduce);

}  // namespace dt::trainer
