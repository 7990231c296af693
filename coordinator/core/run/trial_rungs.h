// trial_rungs.h: at which steps a trial is compared.
//
// Role:      pure.
// Tests:     tests/coordinator/core/searching_test.cc, pbt_test.cc
#pragma once

#include <cstdint>
#include <vector>

#include "coordinator/core/model/state.h"
#include "coordinator/search/ladder.h"

namespace dt {

// Returns the resolved specification. `resolved` holds it if no attempt does.
const v1::Spec& SpecOf(const State& state, TrialId id, v1::Spec& resolved);
// Returns the steps at which the trial is compared.
std::vector<search::RungStep> RungsOf(const Experiment& experiment, TrialId id, uint64_t target,
                                      const v1::Spec& spec);
// Returns the rung, or the share of a population, at exactly this step; rung 0: none.
search::RungStep RungAt(const State& state, TrialId id, uint64_t step);

}  // namespace dt
