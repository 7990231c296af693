// orders.h: the attempt that each worker should hold now, as one message.
//
// Tests: tests/coordinator/core/orders_test.cc, tests/coordinator/core/schedule_test.cc
#pragma once

#include <string>
#include <vector>

#include "coordinator/core/model/turn.h"

namespace dt {

// Place of a rank among the hosts of its gang. Hosts are numbered in order of their lowest rank.
struct NodePlace {
  int32_t node = 0;                  // node of this rank
  int32_t nodes = 1;                 // number of nodes of the gang
  std::vector<int32_t> local_ranks;  // the gang's ranks on its host, in order
  std::vector<int32_t> node_ranks;   // the node of each rank
};
// Returns the place of the rank. `hosts` is by rank. Pure. REQUIRES: rank < hosts.size().
NodePlace PlaceInGang(const std::vector<std::string>& hosts, int32_t rank);

// Returns whether the attempt was given to this instance of the worker: only it may be ordered to
// train it. REQUIRES: worker.attempt != nullptr.
bool IsMember(const DurableState& durable, const Worker& worker);
void MarkOrdersDue(LiveState& live, Worker& worker);
void MarkMembersDue(LiveState& live, const LiveAttempt& attempt);
void PublishOrders(Turn& turn);

}  // namespace dt
