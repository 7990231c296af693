// timed_all_reduce.h: the communication hook of c10d's Reducer. It averages each gradient bucket
// over the ranks of the data axis and records its times. Over the backend (Gloo, NCCL) it divides
// and then all-reduces; narrow_sum.h does 16 bits over Gloo, and shared_buckets.h the ranks of one
// host.
//
// Role:    the Reducer owns the hook; the times outlive it.
// Why:     it divides the buffer itself, since the Reducer multiplies by 1/world in one case and
//          divides in another, so a resume would not equal the uninterrupted run bit for bit.
// Tests:   tests/worker/trainer/run/attempt_test.cc, tests/gpu
#pragma once

#include <memory>

#include "worker/trainer/parallel/comm_times.h"
#include "worker/trainer/parallel/group.h"

namespace c10d {
class CommHookInterface;
}  // namespace c10d

namespace dt::trainer {

// `wire`: type that gradients are rounded to when sent; kFloat: no rounding.
enum class Buckets { kOnCpu, kOnGpu };
std::unique_ptr<c10d::CommHookInterface> MakeTimedAllReduce(std::shared_ptr<Group> group,
                                                            std::shared_ptr<CommTimes> times,
                                                            Buckets buckets, at::ScalarType wire);

}  // namespace dt::trainer
