// network.h: the messages between the ranks of a trial in a step, and their duration by
// measurements of such messages.
//
// Role:    pure. The sum of the messages' bytes is WireBytes (strategies.h); a new strategy is a
//          case of Messages as well.
// Units:   seconds; bytes of full buffers, which BusFactor (common/collectives.h) converts to sent
//          bytes.
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
  bool in_memory = false;  // CPU ranks that share a host's memory use it for this message
  double bytes = 0;
  double count = 0;  // in a step, on average
};
// Returns the messages; empty without peers, and with compressed gradients, whose messages cannot
// be predicted. For a pipeline, those of the stage that takes the most memory. Between stages, and
// between ranks that gossip, they are sends. `bucket_bytes`: parallel.bucket_mb.
std::vector<Message> Messages(const ModelSize& model, const StepSize& step, double bucket_bytes);
// Returns the number of ranks along an axis.
int64_t RanksAlong(const StepSize& step, Axis axis);

// Durations of an operation on buffers of some sizes, ascending.
struct MeasuredTime {
  double bytes = 0, seconds = 0;
};
using MeasuredTimes = std::vector<MeasuredTime>;
// Interpolates linearly between two sizes. Below the smallest, returns that one's time, since a
// message takes its time to begin; above the largest, uses that one's bandwidth. Nothing without
// measurements.
std::optional<double> SecondsFor(const MeasuredTimes& measured, double bytes);

// Returns the duration of all messages, one after another. Nothing if `measured` lacks one of them,
// or there are no messages.
std::optional<double> SecondsFor(const std::vector<Message>& messages,
                                 const std::function<MeasuredTimes(const Message&)>& measured);

}  // namespace dt::plan
