// speed.h: parts of a report on what training costs: where the time of a step goes, what a rank
// holds, and how both change with ranks.
//
// Role:  pure. Each adds nothing where there is nothing to say.
// Tests: tests/report/page/speed_test.cc
#pragma once

#include "report/analysis/collect.h"
#include "report/page/document.h"

namespace dt::report {

// By configuration, best first, as bars; by trial as a table.
void AppendStepTime(const Experiment& experiment, Document& document);
// The most that a rank held.
void AppendMemory(const Experiment& experiment, Document& document);
// Where resources.gpus is swept: efficiency against the fewest ranks with otherwise equal
// parameters, and the share of communication. Weak where the tokens of a step grow with the ranks,
// strong where they stay.
void AppendScaling(const Experiment& experiment, Document& document);

}  // namespace dt::report
