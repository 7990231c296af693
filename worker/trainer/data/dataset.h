// dataset.h: the token shards of one split, read as numbered windows of seq_len + 1 tokens.
//
// Role:    windows start seq_len tokens apart within a shard and never cross into the next shard,
//          as in llm.c. Tokens left over at the end of a shard are not used.
// Threads: reading is thread-safe.
// Errors:  DataError that names the file; ConfigError if the pattern is malformed.
// Tests:   tests/worker/trainer/data/data_test.cc
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"
#include "corpus/shard.h"

namespace dt::trainer {

struct DatasetOptions {
  std::string data_root;
  std::string field;    // field name for messages: data.train or data.val
  std::string pattern;  // glob pattern: the value of that field
  corpus::ShardFormat format = corpus::ShardFormat::kAuto;
  int32_t vocab_size = 0;  // every token id must be smaller
  int64_t seq_len = 0;
  bool by_tokens = false;  // read by token ranges (Read), so a shard of two tokens is enough
};

class Dataset {
 public:
  static absl::StatusOr<Dataset> Open(const DatasetOptions& options);

  uint64_t files() const { return shards_.size(); }
  uint64_t tokens() const { return tokens_; }
  uint64_t windows() const { return first_window_.back(); }
  int64_t seq_len() const { return options_.seq_len; }
  const std::vector<std::string>& paths() const { return paths_; }  // sorted
  // Equal on two hosts when they have the same data; see corpus/fingerprint.h.
  const std::string& fingerprint() const { return fingerprint_; }

  // Returns the number of tokens in each shard.
  std::vector<uint64_t> ShardTokens() const;
  // Reads tokens [first, first + ids.size()) of a shard and checks each against the vocabulary.
  // REQUIRES: the range lies within the shard.
  absl::Status Read(uint64_t shard, uint64_t first, std::span<uint16_t> ids) const;
  // Reads the tokens of a window and checks each against the vocabulary.
  // REQUIRES: window < windows(); ids.size() == seq_len + 1.
  absl::Status ReadWindow(uint64_t window, std::span<uint16_t> ids) const;

 private:
  absl::Status CheckSize() const;

  DatasetOptions options_;
  std::vector<std::string> paths_;
  std::vector<corpus::TokenShard> shards_;
  std::vector<uint64_t> first_window_;  // per shard, and one past the last window
  uint64_t tokens_ = 0;
  std::string fingerprint_;
};

}  // namespace dt::trainer
