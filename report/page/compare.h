// compare.h: experiments side by side.
//
// Role:  pure. Tests: tests/report/page/sections_test.cc
#pragma once

#include <vector>

#include "report/analysis/collect.h"
#include "report/page/document.h"

namespace dt::report {

// A trial of each experiment, in their order; null where one has none like it.
using TrialGroup = std::vector<const Trial*>;

// Trials that are alike: equal in the resolved value of every field that any of the experiments
// sweeps, so that lr 0.001 that is swept here pairs with lr 0.001 that is fixed there. In the order
// of the first experiment, then what only later ones have. Of several alike in one experiment the
// first goes with the first of another, and so on.
std::vector<TrialGroup> MatchTrials(const std::vector<Experiment>& experiments);

// A column for each in every table: more would be wider than any screen.
inline constexpr int kComparedMax = 8;
// REQUIRES: two experiments or more.
Document CompareReport(const std::vector<Experiment>& experiments);

}  // namespace dt::report
