// configurations.h: trials that differ in their seed alone, as one: mean and deviation.
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

// How values spread: the sample standard deviation, which divides by n - 1.
struct Spread {
  size_t n = 0;          // finite values
  double mean = 0;       // NaN: there is none
  double deviation = 0;  // NaN: fewer than two
};
Spread SpreadOf(const std::vector<double>& values);
// "3.4120 ± 0.0210"; "3.4120" of one value; "-" of none.
std::string SpreadText(const Spread& spread);

struct Configuration {
  // By number. Not null; the trials belong to whom ConfigurationsOf got them from.
  std::vector<const v1::TrialSummary*> trials;
  Spread metric;      // over those that finished: one that trains has no result yet
  size_t ended = 0;   // of trials
  size_t failed = 0;  // of ended
  // Every seed finished, so that its mean may be compared with others.
  bool Complete() const { return metric.n == trials.size(); }
};
// In order of their first trials.
std::vector<Configuration> ConfigurationsOf(const std::vector<v1::TrialSummary>& trials);
// Whether any has more than one trial.
bool HasReplicates(const std::vector<Configuration>& configurations);
// Whole ones first, best first; then the others with a mean; then those without, as they came.
void BestFirst(std::vector<Configuration>& configurations, Goal goal);
// The trial with the best value among those that finished; null: none has one.
const v1::TrialSummary* BestTrial(const Configuration& configuration, Goal goal);

// "12/4": by its first trial; "12/4…6" where there are more.
std::string ConfigurationName(const Configuration& configuration);
// The same with its parameters, as LineName has a trial: "12/4…6  lr=0.001".
std::string ConfigurationLineName(const Configuration& configuration);
// id, experiment, trials, seeds, assignments, metric, n, ended, failed, mean, deviation.
Json ConfigurationJson(const Configuration& configuration, const std::string& metric);

}  // namespace dt::report
