// network.h: what the ranks of a trial say to one another in a step, message by message, and how
// long that takes by measurements of such messages.
//
// Role:    pure. The sum of the messages' bytes is WireBytes (strategies.h); a new strategy is a
//          case of Messages as well.
// Units:   seconds; bytes of whole buffers, which BusFactor (common/collectives.h) makes those that
//          are sent.
// Tests:   tests/plan/network_test.cc
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "common/collectives.h"
#include "plan/cost.h"

namespace dt::plan {

struct Message {
  CollectiveOp op = CollectiveOp::kAllReduce;
  Axis axis = Axis::kData;
  bool in_memory = false;  // where CPU ranks of a host share memory, they do it there
  double bytes = 0;
  double count = 0;  // in a step, on average
};
// Empty where nobody has peers, and of compressed gradients, whose messages are not foreseen. Of a
// pipeline those of the stage that takes the most memory; between stages, and between ranks that
// gossip, they are sends.
// `bucket_bytes`: as parallel.bucket_mb.
std::vector<Message> Messages(const ModelSize& model, const StepSize& step, double bucket_bytes);
// Ranks along an axis.
int64_t RanksAlong(const StepSize& step, Axis axis);

// How long an operation took on buffers of some sizes, ascending.
struct MeasuredTime {
  double bytes = 0, seconds = 0;
};
using MeasuredTimes = std::vector<MeasuredTime>;
// Between two sizes the time grows evenly with the bytes; below the smallest it is that one's, for
// a message takes its time to begin; above the largest, that one's bandwidth. Nothing without any.
std::optional<double> SecondsFor(const MeasuredTimes& measured, double bytes);

// How long all messages take, one after another. Nothing where `measured` knows nothing of one of
// them, or there are none.
std::optional<double> SecondsFor(const std::vector<Message>& messages,
                                 const std::function<MeasuredTimes(const Message&)>& measured);

}  // namespace dt::plan
