// hellaswag.h: how often the model prefers the right one of four endings.
//
// Role:   each rank scores its share. Batches are built from the complete list before they are
//         dealt to ranks, so the result does not depend on the number of ranks.
// Source: the evaluation of llm.c and build-nanogpt: the ending with the smallest sum of losses
//         (accuracy), and the one with the smallest mean loss per token (normalised accuracy).
// Errors: ConfigError for an ending longer than the model's positions; those of the meter.
//         LibTorch's exceptions pass through.
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

// Sum of the losses of one ending's tokens.
struct EndingLoss {
  double sum = 0;
  int64_t tokens = 0;
};
struct Preferred {
  int by_sum = 0;
  int by_mean = 0;
};
// Pure. Returns the preferred ending by sum and by mean; on a tie, the first.
Preferred PreferredEnding(std::span<const EndingLoss> losses);

// Indices of examples that are scored together: of similar length, so that memory is bounded.
using ExampleBatch = std::vector<size_t>;
// Pure. Puts each example into exactly one batch; same result on every rank. Errors: ConfigError.
absl::StatusOr<std::vector<ExampleBatch>> HellaSwagBatches(
    const std::vector<corpus::HellaSwagExample>& examples, int64_t positions);

struct HellaSwagScore {
  double acc = 0;
  double acc_norm = 0;
  double examples = 0;
};
// Returns the score over all examples. Every rank of `mesh` calls it and gets the same result.
absl::StatusOr<HellaSwagScore> ScoreHellaSwag(const TrialSpec& spec,
                                              const std::vector<corpus::HellaSwagExample>& examples,
                                              const std::vector<ExampleBatch>& batches,
                                              const Transformer& model, Device& device, Mesh& mesh,
                                              EvalMeter& meter);

}  // namespace dt::trainer
