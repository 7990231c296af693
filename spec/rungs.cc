#include "spec/rungs.h"

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

}  // namespace dt::spec
