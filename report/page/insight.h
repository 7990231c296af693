// insight.h: sections on the findings of a search: configurations over their seeds, importance of
// the parameters, all trials at once, and the ranges of the best.
//
// Role:  pure. A section without content is left out. The caller gives the pictures of layout.h
//        their headings.
// Tests: tests/report/page/insight_test.cc
#pragma once

#include "report/analysis/collect.h"
#include "report/page/document.h"

namespace dt::report {

// Adds mean and deviation over the seeds of each configuration.
void AppendSeeds(const Experiment& experiment, Document& document);
// Adds the importance of the parameters. For a search that allows no conclusion yet, adds why.
void AppendImportance(const Experiment& experiment, Document& document);
// Adds parallel coordinates, and a table of the ranges of the best quarter.
void AppendParallel(const Experiment& experiment, Document& document);

}  // namespace dt::report
