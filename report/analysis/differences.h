// differences.h: how experiments differ.
//
// Role:  pure. Tests: tests/report/analysis/differences_test.cc
#pragma once

#include <string>
#include <vector>

#include "report/analysis/collect.h"

namespace dt::report {

// What the trials of each experiment have at `path`, resolved: one text, or all that occur, in
// order.
struct Difference {
  std::string path;  // of a field; "build", "LibTorch", "device", "data" of what trials ran on
  std::vector<std::string> values;  // of each experiment
};
// Fields in the order of the manual, then what they ran on, where that is known of all. Names,
// descriptions and labels are no difference.
std::vector<Difference> DifferencesOf(const std::vector<Experiment>& experiments);

// What the trial trains, resolved.
v1::Spec ResolvedSpec(const Experiment& experiment, const Trial& trial);
// The trial's resolved values of the fields at `paths`; "-" where one is not set.
std::vector<std::string> ResolvedTexts(const Experiment& experiment, const Trial& trial,
                                       const std::vector<std::string>& paths);

}  // namespace dt::report
