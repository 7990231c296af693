// differences.h: the fields in which experiments differ.
//
// Role:  pure. Tests: tests/report/analysis/differences_test.cc
#pragma once

#include <string>
#include <vector>

#include "report/analysis/collect.h"

namespace dt::report {

// Resolved values of the trials of each experiment at `path`: one text, or all that occur, in
// order.
struct Difference {
  std::string path;                 // of a field; or "build", "LibTorch", "device", "data"
  std::vector<std::string> values;  // of each experiment
};
// Returns fields in the order of the manual, then software, device and data where these are known
// for all. Names, descriptions and labels are not compared.
std::vector<Difference> DifferencesOf(const std::vector<Experiment>& experiments);

// Returns the resolved specification of the trial.
v1::Spec ResolvedSpec(const Experiment& experiment, const Trial& trial);
// Returns the trial's resolved values of the fields at `paths`; "-" where one is not set.
std::vector<std::string> ResolvedTexts(const Experiment& experiment, const Trial& trial,
                                       const std::vector<std::string>& paths);

}  // namespace dt::report
