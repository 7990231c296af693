// evaluations.h: what trials' newest evaluations found besides the loss.
//
// Role:  pure. Tests: tests/report/page/evaluations_test.cc
#pragma once

#include "report/analysis/collect.h"
#include "report/page/document.h"

namespace dt::report {

// The accuracies of every trial that has some.
void AppendAccuracies(const Experiment& experiment, Document& document);
// What the best trials wrote.
void AppendSamples(const Experiment& experiment, Document& document);

}  // namespace dt::report
