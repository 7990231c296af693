// network_facts.h: the part of Apply that stores measurements of the network.
//
// Tests: tests/coordinator/core/network_figures_test.cc
#pragma once

#include "coordinator/core/model/durable.h"

namespace dt {

// Stores the figure in place of an older one of the same kind. Drops the oldest if there are too
// many.
void KeepFigure(DurableState& state, const Attempt& attempt, TrialId by,
                const v1::NetworkFigure& figure, int64_t wall_ms);

}  // namespace dt
