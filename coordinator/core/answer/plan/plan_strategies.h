// plan_strategies.h: a trial of several ranks in each way that its slots allow: each strategy, its
// layers computed by several ranks together, and in stages one after another.
//
// Role:    pure: plan/strategies.h for a resolved specification, with the memory of a slot and the
//          bandwidth that was measured: message by message, else that of past trials.
// Tests:   tests/coordinator/core/planning_test.cc
#pragma once

#include "coordinator/core/answer/plan/past_pace.h"
#include "coordinator/core/facts/network_figures.h"
#include "dtrain/v1/control.pb.h"

namespace dt {

// Fills strategies, advice and parameters; nothing for one rank, and of a program of a person's.
// `spec`: with the slots that it starts on. `memory_bytes`: of a slot; 0: unknown. `estimate`: of
// the trial.
void FillStrategies(const v1::Spec& spec, const PastPace& past, const NetworkFigures& network,
                    double memory_bytes, const Estimate& estimate, v1::PlannedTrials& planned);

}  // namespace dt
