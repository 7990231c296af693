// collectives.h: the words for what ranks do together, and for the axes of ranks along which they
// do it: in rows, metrics and reports.
//
// Role:   constants and pure functions.
// Source: NVIDIA/nccl-tests, doc/PERFORMANCE.md (bus bandwidth).
// Tests:  tests/spec/collectives_test.cc
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace dt {

enum class CollectiveOp { kAllReduce, kAllGather, kReduceScatter, kBroadcast, kSend, kReceive };
inline constexpr std::array<std::string_view, 6> kCollectiveOps = {
    "all_reduce", "all_gather", "reduce_scatter", "broadcast", "send", "recv"};

enum class Axis {
  kData,       // ranks that hold the same part of the model, each with its own share of the batch
  kShard,      // of those, the ones that share one copy of the state
  kReplicate,  // and the ones that hold the same share of different copies
  kTensor,     // ranks that compute each layer together, each a part of it, of the same samples
  kPipeline,   // ranks that compute one layer after another, each some of them, of the same samples
  kEnds,       // of those, the first and the last
  kWorld,      // all ranks of the attempt; nothing of a step goes along it
};
inline constexpr std::array<std::string_view, 6> kTimedAxes = {"data",   "shard",    "replicate",
                                                               "tensor", "pipeline", "ends"};

constexpr std::string_view WordOf(CollectiveOp op) {
  return kCollectiveOps[static_cast<size_t>(op)];
}
// REQUIRES: an axis that is timed.
constexpr std::string_view WordOf(Axis axis) { return kTimedAxes[static_cast<size_t>(axis)]; }
constexpr bool IsCollectiveOp(std::string_view word) {
  return std::find(kCollectiveOps.begin(), kCollectiveOps.end(), word) != kCollectiveOps.end();
}
constexpr bool IsTimedAxis(std::string_view word) {
  return std::find(kTimedAxes.begin(), kTimedAxes.end(), word) != kTimedAxes.end();
}

// What goes over the slowest link for each byte of the whole buffer, at best: by it the bandwidths
// of different operations and numbers of ranks compare.
constexpr double BusFactor(std::string_view op, double ranks) {
  if (op == WordOf(CollectiveOp::kAllReduce)) return 2 * (ranks - 1) / ranks;
  if (op == WordOf(CollectiveOp::kAllGather) || op == WordOf(CollectiveOp::kReduceScatter)) {
    return (ranks - 1) / ranks;
  }
  return 1;
}

}  // namespace dt
