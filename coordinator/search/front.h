// front.h: compares trials by several costs: domination, the Pareto front and the hypervolume.
//
// Role:    pure. Lower costs are better. NaN counts as kWorstCost, so a trial without a value is
//          the worst in that objective.
// Source:  fronts as in NSGA-II (Deb et al., 2002); the subset by hypervolume as in MOTPE (Ozaki et
//          al., Multiobjective Tree-Structured Parzen Estimator for Computationally Expensive
//          Optimization Problems, GECCO 2020), chosen greedily. ParetoFront as in Kung, Luccio and
//          Preparata, On Finding the Maxima of a Set of Vectors, JACM 1975.
// Bounds:  ParetoFront takes O(n · log² n) steps for n points, with four objectives O(n · log³ n).
//          FrontsOf takes O(n · f) comparisons for fronts of f points, with two objectives O(n) a
//          front; a hypervolume of p points O(p^(m - 1)) for m objectives.
// Tests:   tests/coordinator/search/front_test.cc
#pragma once

#include <cstddef>
#include <vector>

namespace dt::search {

// The costs of a trial, one for each objective.
using Costs = std::vector<double>;

// Returns whether `a` is no worse than `b` in every objective, and better in one. REQUIRES: as many
// costs.
bool Dominates(const Costs& a, const Costs& b);

// Sorts points into fronts: the first has the points that no other one dominates, the next those
// that only points before it dominate. Returns indices, ascending within a front; stops after the
// front with which `enough` points are in fronts.
std::vector<std::vector<size_t>> FrontsOf(const std::vector<Costs>& points, size_t enough);

// Returns the indices of the points that no other one dominates, ascending: the first of FrontsOf.
std::vector<size_t> ParetoFront(const std::vector<Costs>& points);

// Returns the volume that the points dominate, up to the reference. A point beyond the reference
// adds nothing.
double Hypervolume(std::vector<Costs> points, const Costs& reference);

// Returns the indices of the `count` best points, ascending: front by front, and of the last front
// those that together have the largest hypervolume, as far as a greedy choice finds it.
std::vector<size_t> BestOf(const std::vector<Costs>& points, size_t count);

}  // namespace dt::search
