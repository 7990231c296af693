// rung_table.h: the results of the rungs at which an experiment's trials are compared.
//
// Role:  pure; for users, who read it beside the trials.
// Cost:  O(log n) per entry.
// Tests: tests/e2e/search_test.cc, tests/e2e/page_test.cc
#pragma once

#include "coordinator/core/model/state.h"
#include "dtrain/v1/control.pb.h"

namespace dt {

// Adds a row for each rung of each bracket that has entries.
void FillRungs(const State& state, const Experiment& experiment,
               v1::GetExperimentResponse& response);

}  // namespace dt
