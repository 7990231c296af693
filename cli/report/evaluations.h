// evaluations.h: what trials' newest evaluations found besides the loss.
//
// Role:  pure. Tests: tests/cli/report/evaluations_test.cc
#pragma once

#include "cli/report/collect.h"
#include "cli/report/document.h"

namespace dt::cli::report {

// The accuracies of every trial that has some.
void AppendAccuracies(const Experiment& experiment, Document& document);
// What the best trials wrote.
void AppendSamples(const Experiment& experiment, Document& document);

}  // namespace dt::cli::report
