// gpt2_trial.h: the specification of GPT-2's smallest model with every default, for tests that
// change what they are about.
#pragma once

#include "tests/worker/trainer/resolved_spec.h"
#include "worker/trainer/trial/spec.h"

namespace dt::trainer {

inline TrialSpec Gpt2Trial() {
  return ParseTrialSpec(testing::Resolved({{"data", {{"train", "train_*.bin"}}}})).value();
}

}  // namespace dt::trainer
