// orders.h: what each worker should hold now, as one message.
//
// Tests: tests/coordinator/core/orders_test.cc, tests/coordinator/core/schedule_test.cc
#pragma once

#include <string>
#include <vector>

#include "coordinator/core/model/turn.h"

namespace dt {

// Where a rank stands among its gang's hosts, which are counted by their lowest rank.
struct NodePlace {
  int32_t node = 0;                  // of this rank
  int32_t nodes = 1;                 // that the gang has
  std::vector<int32_t> local_ranks;  // the gang's ranks on its host, in order
  std::vector<int32_t> node_ranks;   // the node of each rank
};
// Pure. `hosts`: of each rank. REQUIRES: rank is one of them.
NodePlace PlaceInGang(const std::vector<std::string>& hosts, int32_t rank);

// Whether the attempt was given to this life of the worker: only that one may be told to train it.
// REQUIRES: worker.attempt != nullptr.
bool IsMember(const DurableState& durable, const Worker& worker);
void MarkOrdersDue(LiveState& live, Worker& worker);
void MarkMembersDue(LiveState& live, const LiveAttempt& attempt);
void PublishOrders(Turn& turn);

}  // namespace dt
