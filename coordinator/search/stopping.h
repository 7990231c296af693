// stopping.h: which validation ends a trial, or the whole search, and the sentence that says why.
//
// Role:    pure. After each validation the first of these that applies ends the trial: EndByLoss,
//          its rung (ladder.h), EndByPatience, EndByMedian; then EndOfSearch is asked.
// Units:   steps are optimizer steps; costs are as in cost.h.
// Tests:   tests/coordinator/search/stopping_test.cc
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/search/cost.h"

namespace dt::search {

// stop.* of one trial. 0: the rule is off.
struct StopRules {
  double max_loss = 0;
  int patience = 0;      // validations in a row without a better one
  int median_after = 0;  // validations that a trial has before it is compared with the median
};

// How a metric is called, and which way is better.
struct Metric {
  std::string name;
  Goal goal = Goal::kMinimize;
};

// What the validations of one trial came to. A retried trial starts with a new one.
struct Standing {
  uint64_t step = 0;  // the highest that was counted
  uint64_t validations = 0;
  double best = kWorstCost;
  int without_better = 0;
  double mean = 0;  // of all costs so far
};

// The means of all trials' costs up to each step at which they were validated.
class Means {
 public:
  void Add(uint64_t step, double mean);
  // The median of those at `step`, one entry of `own` aside; nullopt when fewer than
  // kMedianLeast others were validated there.
  std::optional<double> MedianOfOthers(uint64_t step, double own) const;
  // How many others that are.
  size_t others(uint64_t step) const;

 private:
  // By step, sorted; 8 bytes a validation. Which trial one is of makes no difference.
  std::map<uint64_t, std::vector<double>> means_;
};

// With fewer others a median says little of the space; Ray Tune's rule has the same number.
inline constexpr size_t kMedianLeast = 3;

// Counts a validation; false for a step that was counted before, which an attempt reports again
// after a resume: the first stands.
bool Count(Standing& standing, uint64_t step, double cost);

std::optional<std::string> EndByLoss(const StopRules& rules, uint64_t step, double loss);
std::optional<std::string> EndByPatience(const StopRules& rules, const Metric& metric,
                                         const Standing& standing);
// The median stopping rule of Vizier (Golovin et al., Google Vizier, 2017, 3.2.2): the trial's best
// value so far is worse than the median of the others' running means up to the same step. As it is
// asked after each validation, those compared are the others that were validated at this step.
// REQUIRES: `standing` was counted, and its mean added to `means`.
std::optional<std::string> EndByMedian(const StopRules& rules, const Metric& metric,
                                       const Standing& standing, const Means& means);
// The first validation that reaches search.target ends the search.
std::optional<std::string> EndOfSearch(std::optional<double> target, const Metric& metric,
                                       double value);

}  // namespace dt::search
