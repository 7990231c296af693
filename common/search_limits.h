// search_limits.h: bounds on the objectives and constraints of a search.
#pragma once

namespace dt::limits {

// With more objectives nearly every trial is on the Pareto front, and the hypervolume that chooses
// among them costs too much.
inline constexpr int kObjectives = 4;
// Each is read again at each evaluation.
inline constexpr int kSearchConstraints = 16;

}  // namespace dt::limits
