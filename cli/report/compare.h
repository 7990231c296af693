// compare.h: two experiments side by side.
//
// Role:  pure. Tests: tests/cli/report/sections_test.cc
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/report/collect.h"
#include "cli/report/document.h"

namespace dt::cli::report {

// Trials with equal parameters, in the order of `a`; then those that only `b` has. What one lacks
// is null. Of several with equal parameters the first are paired, then the second, and so on.
using TrialPair = std::pair<const Trial*, const Trial*>;
std::vector<TrialPair> MatchTrials(const Experiment& a, const Experiment& b);

Document CompareReport(const Experiment& a, const Experiment& b);

}  // namespace dt::cli::report
