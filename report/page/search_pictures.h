// search_pictures.h: the pictures of a search, as the page has them: the best value so far, slices,
// a contour, and the Pareto front.
//
// Role:  pure. A picture without content is left out; its heading is the caller's.
// Tests: tests/report/page/search_pictures_test.cc
#pragma once

#include "report/analysis/collect.h"
#include "report/page/document.h"

namespace dt::report {

// Adds each trial's result in the order of their numbers, and the best value so far.
void AppendBestSoFar(const Experiment& experiment, Document& document);
// Adds the metric over each parameter.
void AppendSlices(const Experiment& experiment, Document& document);
// Adds the metric over the first two parameters, with a field between the trials.
void AppendContour(const Experiment& experiment, Document& document);
// Adds the front of the search metric and another metric that trials report, or else their time in
// training: a picture, and a table of the trials on it.
void AppendFront(const Experiment& experiment, Document& document);

}  // namespace dt::report
