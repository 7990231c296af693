// speed.h: sections on the cost of training: time of a step, memory of a rank, and how both change
// with the number of ranks.
//
// Role:  pure. A section without content is left out.
// Tests: tests/report/page/speed_test.cc
#pragma once

#include "report/analysis/collect.h"
#include "report/page/document.h"

namespace dt::report {

// Adds the parts of a step: bars by configuration, best first, and a table by trial.
void AppendStepTime(const Experiment& experiment, Document& document);
// Adds the peak memory of a rank.
void AppendMemory(const Experiment& experiment, Document& document);
// Adds the scaling where resources.gpus is swept: efficiency against the fewest ranks with
// otherwise equal parameters, and the share of communication. Scaling is weak where the tokens of a
// step grow with the ranks, and strong where they stay.
void AppendScaling(const Experiment& experiment, Document& document);

}  // namespace dt::report
