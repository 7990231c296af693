// runs.h: one search on one problem, with parallel workers, in simulated time.
//
// Role:  the runs behind search_bench's tables; a run depends only on its seed.
// Units: numbers of trials and workers; a budget counts full trainings.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "bench/search/problems.h"
#include "coordinator/search/history.h"
#include "coordinator/search/searcher.h"
#include "spec/rungs.h"

namespace dt::bench {

inline constexpr int kEarlier = 60;
inline constexpr int kTrials = 100;

// The sampler; configurations are numbered from 1.
struct Chooser {
  std::function<spec::Point(uint32_t configuration)> ask;
  std::function<void(uint32_t configuration, double cost)> tell;
};
// Return our search room, and uniform draws.
Chooser Ours(const Problem& problem, uint64_t seed);
Chooser Uniform(const Problem& problem, uint64_t seed);

// The true value at the best observation, after a number of trials.
struct Marks {
  double at_earlier = 0;
  double at_end = 0;
};
Marks RunWhole(const Problem& problem, const Chooser& chooser, int workers, uint64_t seed);

// The sampler when a ladder ends trials early.
enum class Sampling : uint8_t { kUniform, kTpe };
struct LadderRun {
  Sampling sampling = Sampling::kTpe;
  spec::Ladder ladder;
  int workers = 1;
  double budget_most = 0;  // the run gives up at this budget
  double goal = 0;         // the true value that a fully trained trial must reach
};
struct Outcome {
  double budget = 0;
  bool reached = false;
};
Outcome RunLadder(const Problem& problem, const LadderRun& run, uint64_t seed);

}  // namespace dt::bench
