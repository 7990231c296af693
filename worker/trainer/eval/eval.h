// eval.h: validation loss.
//
// Errors: those of Dataset::ReadWindow and of the meter; LibTorch's exceptions pass through.
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
  double loss = 0;             // mean over tokens
  double perplexity_mean = 0;  // mean over batches of exp(the batch's loss): more than exp(loss)
  double tokens = 0;
};
// The first eval.batches micro-batches of the validation data, dealt to data ranks in turn, so that
// the figure does not depend on how many there are. Every rank of `mesh` calls it and gets the
// whole.
absl::StatusOr<Validation> Validate(const TrialSpec& spec, const Dataset& data,
                                    const Transformer& model, Device& device, Mesh& mesh,
                                    EvalMeter& meter);
// The sums over the data ranks of each of these, to every rank: those of a pipeline's last stage,
// which knows them.
std::vector<double> SumOfStage(Mesh& mesh, const std::vector<double>& mine);
// Pure: of one data rank's share, as the meter counts: batches.
int64_t ValidationParts(const TrialSpec& spec, const Dataset& data, int32_t rank, int32_t size);

}  // namespace dt::trainer
