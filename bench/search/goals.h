// goals.h: searches with two objectives, and with a constraint, beside Optuna.
//
// Role:   two problems and their runs, one trial after another; a run depends only on its seed.
// Source: ZDT1 (Zitzler, Deb and Thiele, 2000), with five parameters. The constrained problem is a
//         sphere whose best point is infeasible, so that the best feasible one lies on the bound.
#pragma once

#include <cstdint>
#include <functional>

#include "coordinator/search/history.h"
#include "spec/space.h"

namespace dt::bench {

enum class GoalProblem : uint8_t { kTwoObjectives, kConstrained };
const char* NameOf(GoalProblem problem);
// Returns the space of both problems: the unit cube.
const spec::Space& GoalSpace();
search::Outcome OutcomeOf(GoalProblem problem, const spec::Point& at);

// The sampler; configurations are numbered from 1.
struct GoalChooser {
  std::function<spec::Point(uint32_t configuration)> ask;
  std::function<void(uint32_t configuration, const search::Outcome& outcome)> tell;
};
GoalChooser OurGoals(uint64_t seed);
GoalChooser UniformGoals(uint64_t seed);

// Returns how good `trials` trials are, higher is better: with two objectives the share of the
// hypervolume of the true front below (1, 6); with a constraint the true best cost over the best
// feasible one, 0 if none is feasible.
double RunGoals(GoalProblem problem, const GoalChooser& chooser, int trials);

}  // namespace dt::bench
