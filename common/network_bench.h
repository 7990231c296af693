// network_bench.h: the command of a trial that runs no program: dtrain's own trainers measure how
// fast the ranks of a gang communicate.
//
//   [dtrain:network, --ops=all_reduce,broadcast, "--sizes=64K,1M", --rounds=5]
//
// Role:   pure. The rules check the command, an agent passes it to its trainer, the trainer carries
//         it out.
// Errors: InvalidArgument, which names the word, what is allowed and the fix.
// Tests:  tests/common/network_bench_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/collectives.h"

namespace dt {

inline constexpr std::string_view kNetworkBenchWord = "dtrain:network";

// Returns whether `command`, any list of words, is one.
template <typename Words>
bool IsNetworkBench(const Words& command) {
  return command.begin() != command.end() && *command.begin() == kNetworkBenchWord;
}

struct NetworkBench {
  std::vector<CollectiveOp> ops = {CollectiveOp::kAllReduce, CollectiveOp::kAllGather,
                                   CollectiveOp::kReduceScatter, CollectiveOp::kBroadcast,
                                   CollectiveOp::kSend};  // to one other rank, and from it
  std::vector<uint64_t> sizes = {64 << 10, 1 << 20, 16 << 20, 64 << 20};  // bytes, ascending
  int rounds = 5;
};
// Parses the options, in any order; an absent one keeps the default above. Each op and size occurs
// once, in order. REQUIRES: IsNetworkBench(words).
absl::StatusOr<NetworkBench> ParseNetworkBench(const std::vector<std::string>& words);
// Returns the command's words.
std::vector<std::string> WordsOf(const NetworkBench& bench);

}  // namespace dt
