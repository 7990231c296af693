// population.h: a population on a training whose best learning rate falls over time, compared with
// the same number of trials with fixed rates.
//
// Role:   pure; a run depends on its seed alone. The members train in parallel, each at its own
//         speed, and are compared by the coordinator's rules.
// Source: the noisy quadratic model (Zhang et al., 2019): gradient descent on ½·Σ λ·e, where a step
//         shrinks the squared distance e of a direction by (1 − rate·λ)² and the noise of its
//         minibatch adds rate²·λ. A large rate moves far but ends far from the optimum, a small one
//         never arrives.
// Units:  a budget counts full trainings: one for each member.
#pragma once

#include <cstdint>

namespace dt::bench {

// Whether the worst members copy from the best, or all keep their drawn rates.
enum class Members : uint8_t { kStay, kLearn };

// Returns the true final loss of the member with the least observed loss.
double RunPopulation(uint32_t members, Members kind, uint64_t seed);

}  // namespace dt::bench
