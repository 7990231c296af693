// tokenizer.h: finds the tokenizer and vocabulary of the shards, if the specification leaves them
// open.
//
// Role:   looks for the record that `dtctl data tokenize` left beside the shards (corpus/).
// Errors: DataError if the shards were made by a tokenizer other than the specified one, or by two;
//         ConfigError for an impossible vocabulary; those of ResolveGlob.
// Tests:  tests/worker/trainer/trial/tokenizer_test.cc
#pragma once

#include <string>

#include "common/status.h"
#include "worker/trainer/trial/spec.h"

namespace dt::trainer {

// Sets data.tokenizer if it is auto, and model.vocab_size and vocab_pad if they are 0.
absl::Status SettleTokenizer(const std::string& data_root, TrialSpec& spec);
// Returns the name, such as "gpt2". REQUIRES: SettleTokenizer was called.
const char* TokenizerName(const TrialSpec& spec);

}  // namespace dt::trainer
