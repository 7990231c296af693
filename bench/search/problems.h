// problems.h: the ten problems that samplers are compared on, and how long trials of them take.
//
// Role:   pure; the golden test of tests/coordinator/search proposes on them too. Their best values
//         lie away from the centre of each range, so that a prior at the centre gains nothing.
// Source: sphere, Rosenbrock, Ackley, Levy, Branin and Hartmann as they are known, the first ones
//         shifted; lm4, lm8, cat5 and logint3 are made up after the shape of what training language
//         models shows (Hoffmann et al., 2022, for the loss by size and tokens).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spec/space.h"

namespace dt::bench {

struct Problem {
  std::string name;
  spec::Space space;
  double (*value)(const spec::Point& at) = nullptr;  // lower is better
  double noise = 0;                                  // standard deviation of what is observed
  uint64_t place = 0;                                // among Problems(): a part of the noise's key
};
const std::vector<Problem>& Problems();
const Problem& ProblemNamed(const std::string& name);

// What a trial observes, `trial` from 0.
double Observed(const Problem& problem, const spec::Point& at, uint64_t seed, uint64_t trial);
// How long it takes, in no unit: it decides in which order trials side by side end.
double DurationOf(uint64_t seed, uint64_t trial);

// The learning curve of lm4 and lm8: what is observed at `step` of kCurveSteps.
inline constexpr int kCurveSteps = 64;
double OnCurve(const Problem& problem, const spec::Point& at, int step, uint64_t seed,
               uint64_t trial);

}  // namespace dt::bench
