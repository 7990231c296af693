// problems.h: the eleven problems for comparing samplers, and the durations of their trials.
//
// Role:   pure; the golden test of tests/coordinator/search uses them too. Their best values lie
//         away from the centre of each range, so that a prior at the centre gains nothing.
// Source: sphere, Rosenbrock, Ackley, Levy, Branin and Hartmann are standard, the first ones
//         shifted; lm4, lm8, cat5 and logint3 imitate the training of language models (Hoffmann et
//         al., 2022, for the loss by size and tokens). tree8 has conditional parameters: those of
//         an optimizer, and the width of each layer.
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
  double noise = 0;                                  // standard deviation of observations
  uint64_t place = 0;                                // index in Problems(): part of the noise's key
};
const std::vector<Problem>& Problems();
const Problem& ProblemNamed(const std::string& name);

// Returns the observation of a trial, numbered from 0.
double Observed(const Problem& problem, const spec::Point& at, uint64_t seed, uint64_t trial);
// Returns its duration, without a unit: it decides the order in which parallel trials end.
double DurationOf(uint64_t seed, uint64_t trial);

// Returns a point of the learning curve of lm4 and lm8: the observation at `step` of kCurveSteps.
inline constexpr int kCurveSteps = 64;
double OnCurve(const Problem& problem, const spec::Point& at, int step, uint64_t seed,
               uint64_t trial);

}  // namespace dt::bench
