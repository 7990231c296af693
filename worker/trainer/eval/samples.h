// samples.h: texts that the model generates, to show people what it has learned.
//
// Role:   the first data-parallel rank generates, together with the tensor and pipeline ranks of
//         its model; the other data-parallel ranks wait in KeepCompany. The result is a function of
//         weights, seed and step.
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
  uint16_t end_of_text = 0;      // token that ends a sample
  uint64_t seed = 0;
};
// Returns the tokens after the prompt of each of eval.samples samples, without end-of-text; at most
// eval.sample_tokens each. Called on the first data-parallel rank, while the others are in
// KeepCompany.
absl::StatusOr<std::vector<std::vector<uint16_t>>> Generate(const TrialSpec& spec,
                                                            const Generation& generation,
                                                            const Transformer& model,
                                                            Device& device, Mesh& mesh,
                                                            EvalMeter& meter);
// Blocks the other data-parallel ranks until generation ends. It takes part in one collective per
// token, since a single collective over all tokens would run into its timeout.
void KeepCompany(const Transformer& model, Mesh& mesh);

// Pure: samples one token per row. `logits` are the last logits of a model, [rows, vocab], on the
// CPU. Samples among the top_k most likely tokens (0: all) at this temperature (0: takes the most
// likely).
at::Tensor Draw(const at::Tensor& logits, double temperature, int64_t top_k,
                at::Generator& generator);

// Pure: returns the text in a form that is safe to store and show: valid UTF-8, no control
// characters except line ends and tabs, at most limits::kSampleBytes bytes.
std::string ShownText(std::string_view bytes);

}  // namespace dt::trainer
