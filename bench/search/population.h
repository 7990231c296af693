// population.h: a population on a training whose best learning rate falls as it goes on, beside the
// same number of trials whose rates stay as they were drawn.
//
// Role:   pure; a run depends on its seed alone. The members train side by side, each at its own
//         speed, and are compared as the coordinator compares them.
// Source: the noisy quadratic model (Zhang et al., 2019): gradient descent on ½·Σ λ·e, where a step
//         shrinks the squared distance e of a direction by (1 − rate·λ)² and the noise of its
//         minibatch adds rate²·λ. A large rate moves far and ends far off, a small one never
//         arrives.
// Units:  a budget is in full trainings: one a member.
#pragma once

#include <cstdint>

namespace dt::bench {

// Whether the worst members go on from the best, or all stay as they were drawn.
enum class Members : uint8_t { kStay, kLearn };

// The true loss at the end of the member whose observed loss is least.
double RunPopulation(uint32_t members, Members kind, uint64_t seed);

}  // namespace dt::bench
