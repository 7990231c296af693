// insight.h: what a search found out, as parts of a report: configurations over their seeds, which
// parameters findings, all trials at once, and where the best of them lie.
//
// Role:  pure. Each adds nothing where there is nothing to say.
// Tests: tests/report/page/insight_test.cc
#pragma once

#include "report/analysis/collect.h"
#include "report/page/document.h"

namespace dt::report {

// The mean and deviation over seeds.
void AppendSeeds(const Experiment& experiment, Document& document);
// "What mattered". Of a search that bears no conclusion yet, why.
void AppendImportance(const Experiment& experiment, Document& document);
// Parallel coordinates, and the ranges of the best quarter as a table.
void AppendBestRanges(const Experiment& experiment, Document& document);

}  // namespace dt::report
