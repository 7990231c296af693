// plan_strategies.h: compares the ways in which a trial of several ranks can run: each strategy,
// layers shared by several ranks, and pipeline stages.
//
// Role:    pure: plan/strategies.h for a resolved specification, with the memory of a slot and the
//          measured bandwidth: per message if known, else of past trials.
// Tests:   tests/coordinator/core/planning_test.cc
#pragma once

#include "coordinator/core/answer/plan/past_pace.h"
#include "coordinator/core/facts/network_figures.h"
#include "dtrain/v1/control.pb.h"

namespace dt {

// Fills strategies, advice and parameters. Fills nothing for one rank or for a user's program.
// `spec` has the slots on which it starts. `memory_bytes` is per slot; 0: unknown. `estimate` is
// that of the trial.
void FillStrategies(const v1::Spec& spec, const PastPace& past, const NetworkFigures& network,
                    double memory_bytes, const Estimate& estimate, v1::PlannedTrials& planned);

}  // namespace dt
