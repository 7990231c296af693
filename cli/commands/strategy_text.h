// strategy_text.h: what a trial of several ranks would take under each strategy, as tables.
//
// Role:  pure.
// Tests: tests/cli/commands/plan_test.cc
#pragma once

#include <vector>

#include "cli/view/table.h"
#include "dtrain/v1/control.pb.h"

namespace dt::cli {

namespace v1 = ::dtrain::v1;

// A table and a line of advice for trials that take the same under each; nothing where all trials
// have one rank. `width`: of the terminal; 0: no limit.
std::vector<Line> StrategyLines(const v1::PlanResponse& plan, int width);

}  // namespace dt::cli
