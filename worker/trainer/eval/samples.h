// samples.h: texts that the model writes, for people to see what it has learned.
//
// Role:   the first data rank generates, all ranks of its layers together, and the others keep it
//         company. What comes is a function of weights, seed and step.
// Errors: those of the meter; LibTorch's exceptions pass through.
// Tests:  tests/worker/trainer/eval/samples_test.cc, tests/worker/trainer/run/tasks_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "worker/trainer/device/device.h"
#include "worker/trainer/link/meter.h"
#include "worker/trainer/model/transformer.h"
#include "worker/trainer/parallel/mesh.h"
#include "worker/trainer/trial/spec.h"

namespace dt::trainer {

struct Generation {
  std::vector<uint16_t> prompt;  // not empty
  uint16_t end_of_text = 0;      // ends a sample
  uint64_t seed = 0;
};
// The first data rank: the tokens of each of eval.samples after the prompt, without end-of-text; at
// most eval.sample_tokens. The other ranks of `mesh` are in KeepCompany.
absl::StatusOr<std::vector<std::vector<uint16_t>>> Generate(const TrialSpec& spec,
                                                            const Generation& generation,
                                                            const Transformer& model,
                                                            Device& device, Mesh& mesh,
                                                            EvalMeter& meter);
// The other ranks, until it has ended: a collective for each token, because one that waited for all
// of them would run into its timeout.
void KeepCompany(const Transformer& model, Mesh& mesh);

// Pure: draws from the last logits of a model, [rows, vocab] on the CPU, one of the top_k likeliest
// (0: all) at this temperature (0: the likeliest).
at::Tensor Draw(const at::Tensor& logits, double temperature, int64_t top_k,
                at::Generator& generator);

// Pure: as it may be kept and shown: valid UTF-8, no control characters but line ends and tabs, at
// most limits::kSampleBytes bytes.
std::string ShownText(std::string_view bytes);

}  // namespace dt::trainer
