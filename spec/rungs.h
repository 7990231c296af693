// rungs.h: the steps at which a ladder compares trials.
//
// Role:   pure; dtctl shows and checks the steps before a submit, the coordinator compares trials
//         at them.
// Units:  rungs are counted from 1; steps are optimizer steps.
// Source: Li et al., A System for Massively Parallel Hyperparameter Tuning (ASHA), 2020; the rungs
//         are shares of each trial's own target, so that trials of different batch size are
//         compared at the same share of training and of the learning-rate schedule.
// Tests:  tests/spec/rungs_test.cc
#pragma once

#include <cstdint>
#include <vector>

namespace dt::spec {

struct Ladder {
  int eta = 3;       // 2…10: one in this many goes on
  int rungs = 3;     // 1…6; the end of training is not a rung
  int brackets = 1;  // 1…rungs+1: bracket b skips the first b rungs
};

// Returns eta^(rungs + 1 − rung). REQUIRES: rung in 1…ladder.rungs.
uint64_t DivisorOf(const Ladder& ladder, int rung);
// Returns ⌈target_steps / eta^(rungs + 1 − rung)⌉ in integer arithmetic, since int(log(243) /
// log(3)) is 4. REQUIRES: rung in 1…ladder.rungs.
uint64_t StepOf(const Ladder& ladder, int rung, uint64_t target_steps);

struct RungStep {
  int rung = 0;
  uint64_t step = 0;
};
// Returns where trials of `bracket` are compared on their way to `target_steps`: after the warm-up
// (a loss within it predicts little), before the end, and no two rungs at one step.
std::vector<RungStep> RungSteps(const Ladder& ladder, int bracket, uint64_t target_steps,
                                uint64_t warmup_steps);

// The values of search.pbt: a population is compared at every multiple of a share.
struct Population {
  double every = 0.1;      // 0.01…0.5 of a trial's target
  double quantile = 0.25;  // above 0, to 0.5: the share that copies, and the share that is copied
                           // from
  double resample = 0.25;  // the chance that a value is drawn again; 0: never
};
// Returns the same for a population: shares are numbered from 1, including those within the
// warm-up.
std::vector<RungStep> RungSteps(const Population& population, uint64_t target_steps,
                                uint64_t warmup_steps);

}  // namespace dt::spec
