// tokenize_state.h: the progress of a tokenize run, so that a killed run can continue.
//
// Role:      one small file in the run's workshop, written whenever a shard is complete. It holds a
//            hash of everything that determines the shards: options, inputs with sizes and times,
//            this build.
// Invariant: everything that it counts is on disk before it is written.
// Errors:    IoError, DataError for a vocabulary that cannot be read. A file that is not a state
//            counts as absent.
// Tests:     tests/corpus/tokenize_restart_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "corpus/document_reader.h"
#include "corpus/documents.h"
#include "corpus/tokenize_options.h"

namespace dt::corpus {

struct TokenizeState {
  ReadPosition place;  // of the next piece
  uint64_t train_tokens = 0;
  uint64_t val_tokens = 0;
  uint64_t documents = 0;
  uint64_t lines = 0;  // lines of JSON lines files
  uint64_t bytes = 0;
  uint64_t skipped = 0;
};

// Returns a key that is equal for runs that write the same shards.
absl::StatusOr<std::string> RunKey(const TokenizeOptions& options,
                                   const std::vector<Document>& documents);
absl::Status SaveState(const std::string& folder, const std::string& key,
                       const TokenizeState& state);
// Returns the state of an earlier run with this key, if there is one.
std::optional<TokenizeState> FindState(const std::string& folder, const std::string& key);

}  // namespace dt::corpus
