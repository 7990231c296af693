// differences.h: in what two experiments differ.
//
// Role:  pure. Tests: tests/cli/report/differences_test.cc
#pragma once

#include <string>
#include <vector>

#include "cli/report/collect.h"

namespace dt::cli::report {

// What the trials of both have at `path`, resolved: one text, or all that occur, in order.
struct Difference {
  std::string path;  // of a field; "build", "LibTorch", "device", "data" of what trials ran on
  std::string first;
  std::string second;
};
// Fields in the order of the manual, then what they ran on, where that is known of both. Names,
// descriptions and labels are no difference.
std::vector<Difference> DifferencesOf(const Experiment& a, const Experiment& b);

// The trial's resolved value of the field at `path`; "-" where it is not set.
std::string ResolvedText(const Experiment& experiment, const Trial& trial, const std::string& path);

}  // namespace dt::cli::report
