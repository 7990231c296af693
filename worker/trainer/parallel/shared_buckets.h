// shared_buckets.h: averages the Reducer's buckets in memory shared by the ranks of one host: no
// copy, no socket.
//
// Role:      replaces the hook of timed_all_reduce.h if Group::ShareMemory returned memory.
// Ownership: a placed bucket keeps the memory alive as long as any view of it exists.
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

// Returns the floats that a bucket takes: buckets start on cache lines, so that no line is written
// for two buckets at once.
constexpr size_t SharedFloats(int64_t floats) { return (static_cast<size_t>(floats) + 15) & ~15u; }

// Moves a tensor's storage to `place` in the memory, without its contents. Views of the storage
// move too.
void PlaceStorage(const at::Tensor& tensor, const std::shared_ptr<HostMemory>& memory,
                  float* place);

// Moves the buckets, without their contents, into this rank's part, in order. Every rank must have
// the same layout, and the part must not be in use.
void PlaceBuckets(const c10d::Reducer& reducer, const std::shared_ptr<HostMemory>& memory,
                  int rank);

// Returns a reduction that averages the buckets in place, on a thread of its own (bucket_thread.h).
// REQUIRES: PlaceBuckets placed the buckets, and only the result posts to `reduce`.
std::shared_ptr<BucketReduction> MakeSharedAverage(std::shared_ptr<HostReduce> reduce);

}  // namespace dt::trainer
