// stopping.h: decides which validation ends a trial or the search, and gives the reason in a
// sentence.
//
// Role:    pure. After each validation, the first rule that applies ends the trial: EndByLoss, its
//          rung (ladder.h), EndByPatience, EndByMedian. EndOfSearch is asked after that.
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

// The settings stop.* of one trial. 0: the rule is off.
struct StopRules {
  double max_loss = 0;
  int patience = 0;      // validations in a row without improvement
  int median_after = 0;  // validations of a trial before it is compared with the median
};

// A metric's name, and the direction of better values.
struct Metric {
  std::string name;
  Goal goal = Goal::kMinimize;
};

// Summary of one trial's validations. A retried trial starts with a new one.
struct TrialProgress {
  uint64_t step = 0;  // the highest counted step
  uint64_t validations = 0;
  double best = kWorstCost;
  int without_better = 0;
  double mean = 0;  // of all costs so far
};

// The means of all trials' costs up to each step with a validation.
class Means {
 public:
  void Add(uint64_t step, double mean);
  // Returns the median of the other trials' means at `step`, without one entry equal to `own`;
  // nullopt if fewer than kMedianLeast others have one there.
  std::optional<double> MedianOfOthers(uint64_t step, double own) const;
  // Returns the number of those others.
  size_t others(uint64_t step) const;

 private:
  // Sorted, by step; 8 bytes for each validation. The trial of an entry does not matter.
  std::map<uint64_t, std::vector<double>> means_;
};

// With fewer others, a median says little about the space; Ray Tune's rule uses the same number.
inline constexpr size_t kMedianLeast = 3;

// Counts a validation. Returns false for a step that was already counted: an attempt reports it
// again after a resume, and the first report stands.
bool Count(TrialProgress& progress, uint64_t step, double cost);

std::optional<std::string> EndByLoss(const StopRules& rules, uint64_t step, double loss);
std::optional<std::string> EndByPatience(const StopRules& rules, const Metric& metric,
                                         const TrialProgress& progress);
// Applies Vizier's median stopping rule (Golovin et al., Google Vizier, 2017, 3.2.2): the trial's
// best value so far is worse than the median of the others' running means up to the same step.
// Called after each validation, so it compares the others that were validated at this step.
// REQUIRES: `progress` was counted, and its mean added to `means`.
std::optional<std::string> EndByMedian(const StopRules& rules, const Metric& metric,
                                       const TrialProgress& progress, const Means& means);
// Ends the search at the first validation that reaches search.target.
std::optional<std::string> EndOfSearch(std::optional<double> target, const Metric& metric,
                                       double value);

}  // namespace dt::search
