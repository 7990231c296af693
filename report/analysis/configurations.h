// configurations.h: groups of trials that differ only in their seed, with mean and deviation.
//
// Role:  pure. A configuration is the values of all parameters but `seed`.
// Units: those of the experiment's metric.
// Tests: tests/report/analysis/configurations_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "api/json.h"
#include "dtrain/v1/control.pb.h"
#include "report/words/ranking.h"

namespace dt::report {

namespace v1 = ::dtrain::v1;
using api::Json;

// A swept seed repeats a configuration; it is no setting.
inline constexpr char kSeed[] = "seed";

// Mean and sample standard deviation, which divides by n - 1.
struct Spread {
  size_t n = 0;          // finite values
  double mean = 0;       // NaN: no values
  double deviation = 0;  // NaN: fewer than two
};
Spread SpreadOf(const std::vector<double>& values);
// Returns "3.4120 ± 0.0210"; "3.4120" for one value; "-" for no value.
std::string SpreadText(const Spread& spread);

struct Configuration {
  // By number, not null. Points into the vector that ConfigurationsOf was given.
  std::vector<const v1::TrialSummary*> trials;
  Spread metric;      // over the finished trials: a running one has no result yet
  size_t ended = 0;   // of trials
  size_t failed = 0;  // of ended
  // Returns whether every seed finished, so that the mean compares with others.
  bool Complete() const { return metric.n == trials.size(); }
};
// Returns the configurations in the order of their first trials.
std::vector<Configuration> ConfigurationsOf(const std::vector<v1::TrialSummary>& trials);
// Returns whether any has more than one trial.
bool HasReplicates(const std::vector<Configuration>& configurations);
// Sorts: complete ones, best first; then the others with a mean, best first; then those without, in
// their old order.
void BestFirst(std::vector<Configuration>& configurations, Goal goal);
// Returns the finished trial with the best value, or null.
const v1::TrialSummary* BestTrial(const Configuration& configuration, Goal goal);

// Returns "12/4" for one trial, "12/4…6" for several.
std::string ConfigurationName(const Configuration& configuration);
// Returns the same with the parameters, as LineName does for a trial: "12/4…6  lr=0.001".
std::string ConfigurationLineName(const Configuration& configuration);
// Returns id, experiment, trials, seeds, assignments, metric, n, ended, failed, mean, deviation.
Json ConfigurationJson(const Configuration& configuration, const std::string& metric);

}  // namespace dt::report
