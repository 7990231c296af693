// collectives.h: the words for collective operations and for the axes of ranks that they run along,
// as rows, metrics and reports use them.
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
  kShard,      // the data ranks that share one copy of the state
  kReplicate,  // the data ranks that hold the same share of different copies
  kTensor,     // ranks that compute each layer together, each a part of it, on the same samples
  kPipeline,   // ranks that compute one layer after another, each some of them, on the same samples
  kEnds,       // the first and the last rank of a pipeline
  kWorld,      // all ranks of the attempt; no step communicates along it
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

// Returns the bytes over the slowest link for each byte of the full buffer, at best. Dividing by it
// makes bandwidths of different operations and numbers of ranks comparable.
constexpr double BusFactor(std::string_view op, double ranks) {
  if (op == WordOf(CollectiveOp::kAllReduce)) return 2 * (ranks - 1) / ranks;
  if (op == WordOf(CollectiveOp::kAllGather) || op == WordOf(CollectiveOp::kReduceScatter)) {
    return (ranks - 1) / ranks;
  }
  return 1;
}

}  // namespace dt
