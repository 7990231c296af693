// compare.h: the report of several experiments, side by side.
//
// Role:  pure. Tests: tests/report/page/sections_test.cc
#pragma once

#include <vector>

#include "report/analysis/collect.h"
#include "report/page/document.h"

namespace dt::report {

// A trial of each experiment, in their order; null where an experiment has no matching one.
using TrialGroup = std::vector<const Trial*>;

// Returns groups of matching trials. Trials match if they are equal in the resolved value of every
// field that any of the experiments sweeps, so that a swept lr of 0.001 matches a fixed one.
// Groups are in the order of the first experiment, then groups that only later ones have. Of
// several equal trials of an experiment, the first matches the first of another, and so on.
std::vector<TrialGroup> MatchTrials(const std::vector<Experiment>& experiments);

// Upper bound on the experiments: each has a column in every table, and a screen has room for few.
inline constexpr int kComparedMax = 8;
// Returns the report. REQUIRES: two experiments or more.
Document CompareReport(const std::vector<Experiment>& experiments);

}  // namespace dt::report
