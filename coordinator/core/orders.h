// orders.h: what each worker should hold now, as one message.
//
// Tests: tests/coordinator/core/schedule_test.cc
#pragma once

#include "coordinator/core/turn.h"

namespace dt {

// Whether the attempt was given to this life of the worker: only that one may be told to train it.
// REQUIRES: worker.attempt != nullptr.
bool IsMember(const DurableState& durable, const Worker& worker);
void MarkOrdersDue(LiveState& live, Worker& worker);
void MarkMembersDue(LiveState& live, const LiveAttempt& attempt);
void PublishOrders(Turn& turn);

}  // namespace dt
