// tokenize.h: turns text files into token shards, for `dtctl data tokenize`.
//
// Role:      one document per file, or per line of a JSON lines file, each preceded by end-of-text;
//            OUTPUT/train_000000.bin … and OUTPUT/val_000000.bin …, or .npy
// Invariant: OUTPUT holds the shards of exactly one run, never a mixture: a run works in
//            OUTPUT/.tokenize and moves its shards out at the end (publish.h).
// Errors:    ConfigError for options that the user must change, DataError for unusable texts,
//            IoError.
// Tests:     tests/corpus/tokenize_test.cc, tests/corpus/tokenize_restart_test.cc
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/status.h"
#include "corpus/publish.h"
#include "corpus/tokenize_options.h"

namespace dt::corpus {

struct TokenizeProgress {
  uint64_t documents_done = 0;
  uint64_t documents = 0;  // 0: unknown, since there are JSON lines
  uint64_t bytes_done = 0;
  uint64_t bytes = 0;
  uint64_t bytes_resumed = 0;  // part of bytes_done, by an earlier run that was interrupted
};

struct TokenizeSummary {
  uint64_t documents = 0;
  uint64_t skipped = 0;  // binary or empty files, and empty texts of JSON lines
  uint64_t bytes = 0;
  uint64_t bytes_resumed = 0;  // part of them, by an earlier run that was interrupted
  uint64_t train_tokens = 0;
  uint64_t val_tokens = 0;
  std::vector<std::string> train_files;
  std::vector<std::string> val_files;
  int vocabulary = 0;
};

enum class Go { kOn, kStop };

// Makes the same shards whatever the number of threads. A run that was killed, stopped or ran out
// of disk continues after its last complete shard if it is started again with the same options,
// inputs (sizes, times) and program; otherwise it starts from the beginning. `progress` may be
// empty; it is called on this thread every few MiB of text and may end the run. A run that was
// interrupted while it moved its shards out is finished first, whatever the options of this one.
// `changes` replaces the folders' own operations in tests. Errors: CancelledError when progress
// ended it.
absl::StatusOr<TokenizeSummary> TokenizeFiles(
    const TokenizeOptions& options, const std::function<Go(const TokenizeProgress&)>& progress,
    FolderChanges* changes = nullptr);

}  // namespace dt::corpus
