#include "spec/rungs.h"

#include "common/shares.h"

namespace dt::spec {

uint64_t DivisorOf(const Ladder& ladder, int rung) {
  uint64_t divisor = 1;
  for (int i = rung; i <= ladder.rungs; ++i) divisor *= static_cast<uint64_t>(ladder.eta);
  return divisor;
}

uint64_t StepOf(const Ladder& ladder, int rung, uint64_t target_steps) {
  const uint64_t divisor = DivisorOf(ladder, rung);
  return target_steps / divisor + (target_steps % divisor == 0 ? 0 : 1);
}

std::vector<RungStep> RungSteps(const Ladder& ladder, int bracket, uint64_t target_steps,
                                uint64_t warmup_steps) {
  std::vector<RungStep> steps;
  uint64_t last = warmup_steps;
  for (int rung = bracket + 1; rung <= ladder.rungs; ++rung) {
    const uint64_t step = StepOf(ladder, rung, target_steps);
    if (step <= last || step >= target_steps) continue;
    steps.push_back({rung, step});
    last = step;
  }
  return steps;
}

std::vector<RungStep> RungSteps(const Population& population, uint64_t target_steps,
                                uint64_t warmup_steps) {
  std::vector<RungStep> steps;
  int rung = 0;
  for (const uint64_t step : ShareSteps(population.every, target_steps)) {
    ++rung;
    if (step > warmup_steps) steps.push_back({rung, step});
  }
  return steps;
}

}  // namespace dt::spec
