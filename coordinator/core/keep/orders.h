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

// Returns the first rank of each host of the gang, of those that still hold it.
std::vector<int32_t> FirstRanksOfHosts(const LiveState& live, const LiveAttempt& attempt);
// Returns the port at which hosts of the gang are asked whether they answer: that of the attempt's
// store, since a network that lets the gang train lets it through. "": no store is open.
std::string PeerPort(const LiveAttempt& attempt);
// Returns host:port of the rank's host on the data network. REQUIRES: a worker holds the rank.
std::string PeerAddress(const LiveState& live, const LiveAttempt& attempt, int32_t rank);

// Returns whether the attempt was given to this instance of the worker: only it may be ordered to
// train it. REQUIRES: worker.attempt != nullptr.
bool IsMember(const DurableState& durable, const Worker& worker);
void MarkOrdersDue(LiveState& live, Worker& worker);
void MarkMembersDue(LiveState& live, const LiveAttempt& attempt);
void PublishOrders(Turn& turn);

}  // namespace dt
