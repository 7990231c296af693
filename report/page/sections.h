// sections.h: the report of one experiment, section by section.
//
// Role:  pure. It reads no clock, so the same data gives the same report.
// Tests: tests/report/page/sections_test.cc
#pragma once

#include "report/analysis/collect.h"
#include "report/page/document.h"

namespace dt::report {

// Returns the report: head, the pictures of layout.h, takeovers, loss curves, accuracies, samples,
// batch size, time of a step, communication, memory, scaling, configuration, attempts.
Document ExperimentReport(const Experiment& experiment);

// Facts at the head, for a comparison too.
Facts HeadFacts(const Experiment& experiment);
// Returns the definitions of perplexity and seconds per epoch; for a program with this metric, that
// of its best value.
std::string MeasuresNote(const std::string& metric = "");
// Adds the submitted file, the resolved one, and the provenance of the trials, under `heading`.
void AppendConfiguration(const Experiment& experiment, const std::string& heading,
                         Document& document);

}  // namespace dt::report
