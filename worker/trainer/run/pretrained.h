// pretrained.h: initial weights from a folder with a GPT-2 in Hugging Face format.
//
// Role:   model.init_from. Rows of the padded vocabulary that the file lacks keep their initial
//         values, and take no part in any loss.
// Errors: those of hf_import.h; DataError for a number that is not finite. LibTorch's exceptions
//         pass through.
// Tests:  tests/worker/trainer/run/pretrained_test.cc, tests/worker/trainer/hf/hf_test.py
#pragma once

#include <string>

#include "checkpoint/hf_import.h"
#include "worker/trainer/model/transformer.h"
#include "worker/trainer/parallel/mesh.h"

namespace dt::trainer {

// Finds the folder of model.init_from, under `data_root` if it is relative, and checks everything
// except the numbers.
absl::StatusOr<checkpoint::HfWeights> FindPretrained(const std::string& data_root,
                                                     const ModelSpec& spec);

// Overwrites every parameter on every rank: rank 0 reads and sends to the others.
absl::Status LoadPretrained(const checkpoint::HfWeights& weights, Mesh& mesh,
                            const std::vector<Piece>& parameters);
// Reads on rank 0, without sending.
absl::Status ReadPretrained(const checkpoint::HfWeights& weights,
                            const std::vector<Piece>& parameters);

}  // namespace dt::trainer
