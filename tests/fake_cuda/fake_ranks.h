// fake_ranks.h: runs the ranks of one attempt, each a process with a fake GPU on which nothing is
// computed, and counts their calls in every step.
//
// Role:      for shapes that no test machine could train: memory that is not written uses none of
//            the host's, and parameters are not drawn.
// Ownership: the processes, which are forked from this one and reaped before it goes on.
// Threads:   called before this process has opened a device or started a thread.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "worker/frames/frames.h"

namespace dt::fake_cuda {

struct StepCounts {
  size_t work = 0;         // kernels, products, plans, copies and fills
  size_t allocations = 0;  // from the driver
  // The host's waits for the device, including copies of memory that is not pinned.
  std::vector<std::string> waits;
  std::vector<std::string> collectives;
};

struct RankCounts {
  std::string cause, message;
  std::vector<StepCounts> steps;         // all steps but the last, which is logged and followed by
                                         // more
  std::vector<std::string> collectives;  // of the complete attempt, each with its bytes
  std::vector<std::string> faults;
  nlohmann::json last_row;  // null on other ranks than 0
};

// Trains `start` on this many ranks, which it fills in. `sync_every`: for ranks that step alone,
// else 0. A rank that hangs is killed, and its cause is "hung".
std::vector<RankCounts> TrainOnFakeRanks(const frames::Start& start, int ranks, int sync_every);

}  // namespace dt::fake_cuda
