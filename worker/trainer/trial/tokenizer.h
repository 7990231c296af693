// tokenizer.h: what a specification leaves to the shards: their tokenizer, and with it the
// vocabulary.
//
// Role:   looks for the record that `dtctl data tokenize` left beside the shards (corpus/).
// Errors: DataError where the shards were made by another tokenizer than the specification says,
//         or by two; ConfigError for a vocabulary that cannot be; those of ResolveGlob.
// Tests:  tests/worker/trainer/trial/tokenizer_test.cc
#pragma once

#include <string>

#include "common/status.h"
#include "worker/trainer/trial/spec.h"

namespace dt::trainer {

// Settles data.tokenizer auto, and model.vocab_size and vocab_pad 0: none is left open.
absl::Status SettleTokenizer(const std::string& data_root, TrialSpec& spec);
// "gpt2". REQUIRES: it is settled.
const char* TokenizerName(const TrialSpec& spec);

}  // namespace dt::trainer
