// results_csv.h: results as comma-separated values, a row for each trial.
//
// Role:  pure. Columns are API: docs/guides/report.md lists them. Unknown values are empty.
// Tests: tests/report/page/sections_test.cc
#pragma once

#include <string>
#include <vector>

#include "report/analysis/collect.h"

namespace dt::report {

// Returns the trials of one experiment, or of several in turn, with every parameter of any of them
// and every field in which they differ.
std::string ResultsCsv(const std::vector<Experiment>& experiments);

}  // namespace dt::report
