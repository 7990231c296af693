// finish.cc: list scheduling with a heap of the times at which slots become free.
#include "plan/finish.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace dt::plan {
namespace {

using Times = std::priority_queue<double, std::vector<double>, std::greater<>>;

// Returns when the trial ends: it starts once `slots` of `free` are free, not before `earliest`.
double Run(Times& free, int slots, double seconds, double earliest) {
  double start = earliest;
  for (int i = 0; i < slots; ++i) {
    start = std::max(start, free.top());
    free.pop();
  }
  for (int i = 0; i < slots; ++i) free.push(start + seconds);
  return start + seconds;
}

}  // namespace

std::optional<double> FinishSeconds(std::vector<double> free_at, const std::vector<Batch>& before,
                                    const std::vector<Batch>& mine, uint64_t at_once) {
  const auto fits = [&free_at](const Batch& batch) {
    return batch.slots > 0 && static_cast<size_t>(batch.slots) <= free_at.size();
  };
  if (!std::all_of(mine.begin(), mine.end(), fits)) return -1;
  double placed = 0;
  for (const auto* batches : {&before, &mine}) {
    for (const Batch& batch : *batches) {
      if (fits(batch)) placed += static_cast<double>(batch.trials) * batch.slots;
    }
  }
  if (placed > kPlacedMost) return std::nullopt;
  Times free(std::greater<>(), std::move(free_at));
  for (const Batch& batch : before) {
    if (batch.slots <= 0 || static_cast<size_t>(batch.slots) > free.size()) continue;
    for (uint64_t i = 0; i < batch.trials; ++i) Run(free, batch.slots, batch.seconds, 0);
  }
  double last = 0;
  Times running;  // end times of running trials of `mine`
  for (const Batch& batch : mine) {
    for (uint64_t i = 0; i < batch.trials; ++i) {
      double earliest = 0;
      if (at_once > 0 && running.size() >= at_once) {
        earliest = running.top();
        running.pop();
      }
      const double end = Run(free, batch.slots, batch.seconds, earliest);
      running.push(end);
      last = std::max(last, end);
    }
  }
  return last;
}

}  // namespace dt::plan
