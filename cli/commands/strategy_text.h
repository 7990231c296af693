// strategy_text.h: the cost of a trial of several ranks under each strategy, as tables.
//
// Role:  pure.
// Tests: tests/cli/commands/plan_test.cc
#pragma once

#include <vector>

#include "cli/view/table.h"
#include "dtrain/v1/control.pb.h"

namespace dt::cli {

namespace v1 = ::dtrain::v1;

// Returns a table and a line of advice for each group of trials with the same costs; nothing where
// all trials have a single rank. `width` is that of the terminal; 0: no limit.
std::vector<Line> StrategyLines(const v1::PlanResponse& plan, int width);

}  // namespace dt::cli
