// rung_table.h: what came of the rungs at which an experiment's trials are compared.
//
// Role:  pure; for people, who read it beside the trials.
// Cost:  O(log n) an entry.
// Tests: tests/e2e/search_test.cc, tests/e2e/page_test.cc
#pragma once

#include "coordinator/core/model/state.h"
#include "dtrain/v1/control.pb.h"

namespace dt {

// A row for each rung of each bracket that something has been entered in; none without rungs.
void FillRungs(const State& state, const Experiment& experiment,
               v1::GetExperimentResponse& response);

}  // namespace dt
