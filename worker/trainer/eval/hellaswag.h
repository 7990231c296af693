// hellaswag.h: how often the model prefers the right of four endings.
//
// Role:   a rank scores its share; the figure does not depend on how many ranks there are, because
//         batches are made of the whole list before they are dealt.
// Source: the evaluation of llm.c and build-nanogpt: the ending with the least sum of losses
//         (accuracy), and with the least mean over its tokens (normalised accuracy).
// Errors: ConfigError for an ending that does not fit into the model's positions; those of the
//         meter. LibTorch's exceptions pass through.
// Tests:  tests/worker/trainer/eval/hellaswag_test.cc
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "corpus/hellaswag.h"
#include "worker/trainer/device/device.h"
#include "worker/trainer/link/meter.h"
#include "worker/trainer/model/transformer.h"
#include "worker/trainer/parallel/mesh.h"
#include "worker/trainer/trial/spec.h"

namespace dt::trainer {

// The losses of one ending's tokens, summed.
struct EndingLoss {
  double sum = 0;
  int64_t tokens = 0;
};
struct Preferred {
  int by_sum = 0;
  int by_mean = 0;
};
// Pure. Of equal ones the first.
Preferred PreferredEnding(std::span<const EndingLoss> losses);

// Examples that are scored at once: of similar length, in bounded memory.
using ExampleBatch = std::vector<size_t>;
// Pure. Every example in exactly one batch; the same for every rank. Errors: ConfigError.
absl::StatusOr<std::vector<ExampleBatch>> HellaSwagBatches(
    const std::vector<corpus::HellaSwagExample>& examples, int64_t positions);

struct HellaSwagScore {
  double acc = 0;
  double acc_norm = 0;
  double examples = 0;
};
// Every rank of `group` calls it and gets the whole; null: one rank.
absl::StatusOr<HellaSwagScore> ScoreHellaSwag(const TrialSpec& spec,
                                              const std::vector<corpus::HellaSwagExample>& examples,
                                              const std::vector<ExampleBatch>& batches,
                                              const Transformer& model, Device& device,
                                              Mesh& mesh, EvalMeter& meter);

}  // namespace dt::trainer
