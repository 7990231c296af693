// ranking.h: trials in order of their results.
//
// Role:  pure. Tests: tests/cli/view/live_view_test.cc
#pragma once

#include <string>
#include <vector>

#include "dtrain/v1/control.pb.h"

namespace dt::report {

namespace v1 = ::dtrain::v1;

enum class Goal { kMinimize, kMaximize };
Goal GoalOf(const std::string& word);
// A NaN is neither better nor worse than anything.
bool IsBetter(double a, double b, Goal goal);
// Where trials that ended early stand. Those that a rung ended were trained for less than the
// others, so that their values are no results to choose by; one whose patience ran out was trained
// as long as it was worth.
enum class Early { kAmongOthers, kLast };
// kLast where the experiment's search has rungs.
Early EarlyOf(const v1::ExperimentSpec& spec);
// Trials that have a metric, best first; then the others, in order of number.
std::vector<const v1::TrialSummary*> Ranked(const std::vector<v1::TrialSummary>& trials, Goal goal,
                                            Early early);
// "12/7 has a better val_loss, 2.9000, and was stopped early at step 20/540": the best of those
// that are better than the first of `ranked` and stand behind it. "": there is none.
std::string BetterButEarlyText(const std::vector<const v1::TrialSummary*>& ranked, Goal goal,
                               const std::string& metric);

}  // namespace dt::report
