// eval.h: validation loss.
//
// Errors: those of Dataset::Read and of the meter; LibTorch's exceptions pass through.
// Tests:  tests/worker/trainer/run/attempt_test.cc
#pragma once

#include <vector>

#include "worker/trainer/data/dataset.h"
#include "worker/trainer/device/device.h"
#include "worker/trainer/link/meter.h"
#include "worker/trainer/model/transformer.h"
#include "worker/trainer/parallel/mesh.h"
#include "worker/trainer/trial/spec.h"

namespace dt::trainer {

struct Validation {
  double loss = 0;  // mean over tokens
  // exp(loss). If eval.batches is set: the mean over batches of exp(batch loss), which is larger.
  double perplexity_mean = 0;
  double tokens = 0;
};
// Computes the validation loss. Predicts the first eval.tokens targets of the validation data
// (windows.h), whatever the batch size and sequence length; if eval.batches is set, the targets of
// that many micro-batches. Batches are dealt round-robin to the data-parallel ranks, so the result
// does not depend on their number. All ranks of `mesh` call it, and all get the result.
absl::StatusOr<Validation> Validate(const TrialSpec& spec, const Dataset& data,
                                    const Transformer& model, Device& device, Mesh& mesh,
                                    EvalMeter& meter);
// Returns the sum of each value over the data-parallel ranks, on every rank. The values of the last
// pipeline stage count, since only that stage computes a loss.
std::vector<double> SumOfStage(Mesh& mesh, const std::vector<double>& mine);
// Pure: returns the number of validation batches in one data-parallel rank's share, as the meter
// counts them.
int64_t ValidationParts(const TrialSpec& spec, const Dataset& data, int32_t rank, int32_t size);

}  // namespace dt::trainer
