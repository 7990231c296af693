// network_facts.h: the part of Apply that keeps what was measured of the network.
//
// Tests: tests/coordinator/core/network_figures_test.cc
#pragma once

#include "coordinator/core/model/durable.h"

namespace dt {

// Takes the place of what was measured before of its kind; of too many the oldest goes.
void KeepFigure(DurableState& state, const Attempt& attempt, TrialId by,
                const v1::NetworkFigure& figure, int64_t wall_ms);

}  // namespace dt
