// front.h: the Pareto front of two metrics.
//
// Role:  pure. The page computes the same (coordinator/http/page/front.js).
// Tests: tests/report/analysis/front_test.cc
#pragma once

#include <cstddef>
#include <vector>

#include "report/figures/curve.h"
#include "report/words/ranking.h"

namespace dt::report {

// Returns the indices of the points that no other point beats in one value without being worse in
// the other, the best by x first. Of equal points all are on the front. Leaves out points with a
// value that is not finite.
std::vector<size_t> FrontOf(const std::vector<Point>& points, Goal of_x, Goal of_y);

}  // namespace dt::report
