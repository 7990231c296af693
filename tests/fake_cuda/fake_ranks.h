// fake_ranks.h: the ranks of one attempt, each a process with a fake GPU where nothing is computed,
// and what each of them asked of it in every step.
//
// Role:      for shapes that no machine under test could train: memory that is not written takes
//            none of the host's, and parameters are not drawn.
// Ownership: the processes, which are forked of this one and reaped before it goes on.
// Threads:   called before this process has opened a device or begun a thread.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "worker/frames/frames.h"

namespace dt::fake_cuda {

struct StepCounts {
  size_t work = 0;         // kernels, products, plans, copies and fills
  size_t allocations = 0;  // of the driver
  // The host's for the device, copies of memory that is not pinned among them.
  std::vector<std::string> waits;
  std::vector<std::string> collectives;
};

struct RankCounts {
  std::string cause, message;
  std::vector<StepCounts> steps;         // all but the last, which is logged; what follows is more
  std::vector<std::string> collectives;  // of the whole attempt, each with its bytes
  std::vector<std::string> faults;
  nlohmann::json last_row;  // rank 0's; null: another rank's
};

// `start` says what they train; its ranks are filled in. `sync_every`: of ranks that step alone,
// else 0. A rank that hangs is killed, and its cause is "hung".
std::vector<RankCounts> TrainOnFakeRanks(const frames::Start& start, int ranks, int sync_every);

}  // namespace dt::fake_cuda
