// parameter_axes.h: axes for the parameters of a search: a scale of numbers, or a list.
//
// Role:  pure. Figures and the analysis of importance place values alike.
// Units: a place is in [0, 1]; for an unordered choice it is the index.
// Tests: tests/report/page/insight_test.cc
#pragma once

#include <string>
#include <vector>

#include "report/analysis/collect.h"
#include "report/figures/axis.h"

namespace dt::report {

struct ParameterAxis {
  enum class Kind {
    kNumber,   // from a range, or more different numbers than a list would have
    kOrdered,  // a list of numbers, in their order
    kChoice,   // words and flags
  };
  std::string path;
  Kind kind = Kind::kNumber;
  Scale scale = Scale::kLinear;  // of kNumber
  double low = 0;                // of kNumber, below high
  double high = 1;
  std::vector<std::string> texts;  // of kOrdered and kChoice, in order
};

// Returns an axis for each parameter with more than one value among the trials, in the order of the
// file, without `seed`, which nobody chooses.
std::vector<ParameterAxis> AxesOf(const Experiment& experiment);

// Returns the place of the trial's value: 0 to 1 for a number or an ordered value, the index for a
// choice, NaN without a value.
double PlaceOf(const ParameterAxis& axis, const v1::TrialSummary& trial);

}  // namespace dt::report
