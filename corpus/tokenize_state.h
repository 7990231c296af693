// tokenize_state.h: how far a tokenize run came, so that one that was killed goes on.
//
// Role:      one small file in the run's workshop, written whenever a shard is complete. It holds a
//            hash of all that decides the shards: options, inputs with sizes and times, this build.
// Invariant: what it counts is on disk before it is.
// Errors:    kIo, kData for a vocabulary that cannot be read. A file that is no state is as none.
// Tests:     tests/corpus/tokenize_restart_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/result.h"
#include "corpus/document_reader.h"
#include "corpus/documents.h"
#include "corpus/tokenize.h"

namespace dt::corpus {

struct TokenizeState {
  Place place;  // of the next piece
  uint64_t train_tokens = 0;
  uint64_t val_tokens = 0;
  uint64_t documents = 0;
  uint64_t bytes = 0;
  uint64_t skipped = 0;
};

// Equal for runs that write the same shards.
Result<std::string> RunKey(const TokenizeOptions& options, const std::vector<Document>& documents);
Result<void> SaveState(const std::string& folder, const std::string& key,
                       const TokenizeState& state);
// That of an earlier run with this key, if it left one.
std::optional<TokenizeState> FindState(const std::string& folder, const std::string& key);

}  // namespace dt::corpus
