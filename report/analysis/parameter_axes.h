// parameter_axes.h: where the values of a search's parameters stand: on a number's scale, or at
// places of a list.
//
// Role:  pure. Figures and the analysis of importance place values alike.
// Units: a place is in [0, 1]; of a choice without an order its index.
// Tests: tests/report/page/insight_test.cc
#pragma once

#include <string>
#include <vector>

#include "report/analysis/collect.h"
#include "report/figures/axis.h"

namespace dt::report {

struct ParameterAxis {
  enum class Kind {
    kNumber,   // of a range, or more different numbers than a list would have
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

// An axis for each parameter with more than one value among the trials, in the file's order,
// without `seed`, which is no choice of anybody's.
std::vector<ParameterAxis> AxesOf(const Experiment& experiment);

// Where the trial's value is: a number's and an ordered value's from 0 to 1, a choice's index. NaN:
// it has none.
double PlaceOf(const ParameterAxis& axis, const v1::TrialSummary& trial);

}  // namespace dt::report
