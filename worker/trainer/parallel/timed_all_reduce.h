// timed_all_reduce.h: the communication hook of c10d's Reducer: averages each gradient bucket over
// the ranks of the data axis and notes its times. Over the backend (Gloo, NCCL) it divides and
// sums; in 16 bits over Gloo narrow_sum.h does; shared_buckets.h has ranks of one host.
//
// Role:    the Reducer owns the hook; the times outlive it.
// Why it divides itself: the Reducer's own path multiplies by 1/world in one case and divides in
//          another, so a resume would not equal the uninterrupted run bit for bit.
// Tests:   tests/worker/trainer/run/attempt_test.cc, tests/gpu
#pragma once

#include <memory>

#include "worker/trainer/parallel/comm_times.h"
#include "worker/trainer/parallel/group.h"

namespace c10d {
class CommHookInterface;
}  // namespace c10d

namespace dt::trainer {

// `wire`: what gradients are rounded to while they travel; kFloat: not at all.
enum class Buckets { kOnCpu, kOnGpu };
std::unique_ptr<c10d::CommHookInterface> MakeTimedAllReduce(std::shared_ptr<Group> group,
                                                            std::shared_ptr<CommTimes> times,
                                                            Buckets buckets, at::ScalarType wire);

}  // namespace dt::trainer
