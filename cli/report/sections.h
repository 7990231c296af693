// sections.h: the report of one experiment, section by section.
//
// Role:  pure. Its time is the experiment's, never now: the same data gives the same report.
// Tests: tests/cli/report/sections_test.cc
#pragma once

#include "cli/report/collect.h"
#include "cli/report/document.h"

namespace dt::cli::report {

// Head, results, figures, configurations, what mattered, where the best lie, what was taken over,
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

}  // namespace dt::cli::report
