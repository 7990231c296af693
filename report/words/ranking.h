// ranking.h: trials in order of their results.
//
// Role:  pure. Tests: tests/cli/view/live_view_test.cc
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dtrain/v1/control.pb.h"

namespace dt::report {

namespace v1 = ::dtrain::v1;

enum class Goal { kMinimize, kMaximize };
Goal GoalOf(const std::string& word);
// Returns the better direction of a metric that has no goal, by words in its name. The page guesses
// the same (coordinator/http/page/curves.js).
Goal GuessGoal(std::string_view metric);
// Returns whether `a` is better. NaN is neither better nor worse than any value.
bool IsBetter(double a, double b, Goal goal);
// Place of trials that were stopped early. A trial stopped at a rung trained less than the others,
// so its value does not compare with theirs. A trial whose patience ran out has shown its best.
enum class Early { kAmongOthers, kLast };
// Returns kLast where the experiment's search has rungs.
Early EarlyOf(const v1::ExperimentSpec& spec);
// Returns whether the trial has a value of the metric and breaks no constraint.
bool Counts(const v1::TrialSummary& trial);
// Returns the trials that count, best first, then the others by number. With several objectives the
// Pareto front comes first.
std::vector<const v1::TrialSummary*> Ranked(const std::vector<v1::TrialSummary>& trials, Goal goal,
                                            Early early);
// Returns "3 trials: 12/1, 12/4, 12/9", the Pareto front; "" with one objective.
std::string FrontText(const v1::ExperimentSummary& experiment);
// Returns "front of 3", as a cell; kNone while no trial is on it, and with one objective.
std::string FrontSizeText(const v1::ExperimentSummary& experiment);
// Returns "minimize val_loss, maximize accuracy".
std::string GoalsText(const v1::ExperimentSummary& experiment);
// Returns "val_loss 1.2345, seconds 31.0000; on the Pareto front"; "" with one objective.
std::string ObjectivesText(const v1::ExperimentSummary& experiment, const v1::TrialSummary& trial);
// Returns "latency_ms <= 20; 2 trials infeasible"; "" without constraints.
std::string ConstraintsText(const v1::ExperimentSummary& experiment);
// Returns "12/7 has a better val_loss, 2.9000, and was stopped early at step 20/540" for the best
// early-stopped trial that beats the first of `ranked`; "" if there is no such trial.
std::string BetterButEarlyText(const std::vector<const v1::TrialSummary*>& ranked, Goal goal,
                               const std::string& metric);

}  // namespace dt::report
