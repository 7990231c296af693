// publisher.h: the core loop's output: messages that are sent once a batch is durable.
//
// Threads: the committer's thread calls; SetAutoDevice is called by the core's thread, ResumeReads
//          by both. None may block.
// Tests:   tests/coordinator/loop/loop_test.cc has the fake; rpc/server.h the real one.
#pragma once

#include <cstddef>
#include <memory>

#include "coordinator/core/model/effects.h"
#include "dtrain/v1/control.pb.h"

namespace dt {

class Publisher {
 public:
  virtual ~Publisher() = default;
  virtual void Answer(Reply&& reply) = 0;
  // Replaces unsent orders for the same stream.
  virtual void SendOrders(OrdersOut&& orders) = 0;
  virtual void EndStream(StreamEnd&& end) = 0;
  // Sets the answer of GetStatus, which shows what is durable.
  virtual void ShowStatus(std::shared_ptr<const v1::GetStatusResponse>) {}
  // Sets the device of submissions that name none, before the answers of the same batch are sent.
  virtual void SetAutoDevice(DeviceKind) {}
  // Reports that places in the mailbox became free, or that this many bytes of reports are durable.
  virtual void ResumeReads(size_t bytes) = 0;
};

}  // namespace dt
