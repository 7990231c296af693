// evaluations.h: results of the newest evaluations besides the loss: accuracies and samples.
//
// Role:  pure. Tests: tests/report/page/evaluations_test.cc
#pragma once

#include "report/analysis/collect.h"
#include "report/page/document.h"

namespace dt::report {

// Adds a table of the accuracies, where trials have any.
void AppendAccuracies(const Experiment& experiment, Document& document);
// Adds sample texts of the best trials.
void AppendSamples(const Experiment& experiment, Document& document);

}  // namespace dt::report
