// gpt2_trial.h: the specification of GPT-2's smallest model with every default, and a model of a
// few thousand parameters. Each test changes the fields that it is about.
#pragma once

#include "tests/worker/trainer/resolved_spec.h"
#include "worker/trainer/trial/spec.h"

namespace dt::trainer {

inline TrialSpec Gpt2Trial() {
  return ParseTrialSpec(testing::Resolved({{"data", {{"train", "train_*.bin"}}}})).value();
}

// Returns a model whose embedding has more rows than there are tokens.
inline ModelSpec SmallGpt2() {
  ModelSpec spec = Gpt2Trial().model;
  spec.n_layer = spec.n_head = 2;
  spec.n_embd = 16;
  spec.n_ff = spec.n_positions = 32;
  spec.vocab_size = 61;
  spec.vocab_pad = 64;
  return spec;
}

}  // namespace dt::trainer
