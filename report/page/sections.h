// sections.h: the report of one experiment, section by section.
//
// Role:  pure. Its time is the experiment's, never now: the same data gives the same report.
// Tests: tests/report/page/sections_test.cc
#pragma once

#include "report/analysis/collect.h"
#include "report/page/document.h"

namespace dt::report {

// Head, results, figures, configurations, what findings, where the best lie, what was taken over,
// curves, accuracies, samples, batch size, time of a step, communication, memory, scaling,
// configuration, attempts.
Document ExperimentReport(const Experiment& experiment);

// Parts that a comparison has too.
Facts HeadFacts(const Experiment& experiment);
// What perplexity and seconds per epoch are here; of a program, by its metric, what best is.
std::string MeasuresNote(const std::string& metric = "");
// The submitted file, the resolved one, and what the trials ran on, under `heading`.
void AppendConfiguration(const Experiment& experiment, const std::string& heading,
                         Document& document);

}  // namespace dt::report
