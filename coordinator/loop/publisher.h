// publisher.h: the way out of the core loop: what is sent once a batch is durable.
//
// Threads: called by the committer's thread; SetAutoDevice by the core's, ResumeReads by both. None
//          may block.
// Tests:   tests/coordinator/loop/loop_test.cc has the fake; rpc/server.h the real one.
#pragma once

#include <cstddef>

#include "coordinator/core/effects.h"

namespace dt {

class Publisher {
 public:
  virtual ~Publisher() = default;
  virtual void Answer(Reply&& reply) = 0;
  // Replaces orders for the same stream that were not sent yet.
  virtual void SendOrders(OrdersOut&& orders) = 0;
  virtual void EndStream(StreamEnd&& end) = 0;
  // Which device a submission that leaves it open gets, before what the batch brought is answered.
  virtual void SetAutoDevice(DeviceKind) {}
  // Places in the mailbox have become free, or this many bytes of reports are durable.
  virtual void ResumeReads(size_t bytes) = 0;
};

}  // namespace dt
