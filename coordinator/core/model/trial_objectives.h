// trial_objectives.h: a trial's values of several objectives, and whether it keeps its
// constraints, from the journal.
//
// Role:      pure; reads durable facts alone. Values are the newest ones: those of one moment of
//            the trial, its end.
// Tests:     tests/coordinator/core/objectives_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coordinator/core/model/durable.h"
#include "coordinator/search/front.h"

namespace dt {

// Whether an evaluation is of a trial's own weights, or of those that it leaves in a takeover.
enum class Weights : uint8_t { kOwn, kLeft };
// Keeps the evaluation's values of the watched metrics, and adds the validation to the data for the
// rules of `stop`; each step counts once. A validation that names the metric without a number, or
// that breaks a constraint, counts as the worst. Weights that are left do not count for the rules.
void CountEvaluation(const Experiment& experiment, const v1::Evaluation& evaluation,
                     Weights weights, Trial& trial);
// Forgets both, for a retry.
void ForgetEvaluations(Trial& trial);

// Returns the value of each of search.metrics; NaN: none yet. Empty: there is one objective.
std::vector<double> ObjectiveValues(const Experiment& experiment, const Trial& trial);
// Returns the same as costs.
search::Costs ObjectiveCosts(const Experiment& experiment, const Trial& trial);

// Returns why the trial is infeasible: "latency_ms 31 breaks latency_ms <= 20". Returns "" if it
// keeps every constraint as far as its metrics are known. Once it has finished, a metric without a
// number breaks its constraint.
std::string InfeasibleText(const Experiment& experiment, const Trial& trial);
// Returns the sum of the violations (spec/constraint.h); 0: feasible, as above.
double ViolationOf(const Experiment& experiment, const Trial& trial);

}  // namespace dt
