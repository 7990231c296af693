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
  // exp(loss); where eval.batches is set the mean over batches of exp(the batch's loss), which is
  // more.
  double perplexity_mean = 0;
  double tokens = 0;
};
// Predicts the first eval.tokens targets of the validation data (windows.h), whatever the batch and
// the length of sequences; where eval.batches is set, those of as many micro-batches. They are
// dealt to data ranks in turn, so that the figure does not depend on how many there are. Every rank
// of `mesh` calls it and gets the figure of all.
absl::StatusOr<Validation> Validate(const TrialSpec& spec, const Dataset& data,
                                    const Transformer& model, Device& device, Mesh& mesh,
                                    EvalMeter& meter);
// The sums over the data ranks of each of these, to every rank: those of a pipeline's last stage,
// which knows them.
std::vector<double> SumOfStage(Mesh& mesh, const std::vector<double>& mine);
// Pure: of one data rank's share, as the meter counts: batches.
int64_t ValidationParts(const TrialSpec& spec, const Dataset& data, int32_t rank, int32_t size);

}  // namespace dt::trainer
