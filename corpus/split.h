// split.h: cuts a stream of ids into numbered shards: FOLDER/train_000000.bin … or .npy.
//
// Errors: IoError. Tests: tests/corpus/tokenize_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"
#include "corpus/shard.h"

namespace dt::corpus {

// Returns train_000000.bin; `split`: train or val.
std::string ShardName(const std::string& split, uint64_t index, ShardFormat format);

// REQUIRES: a format that ShardWriter takes.
class Split {
 public:
  // `name`: train or val.
  Split(std::string folder, std::string name, uint64_t shard_tokens, ShardFormat format);

  // Continues after the first `tokens` that an earlier Split wrote and synced. REQUIRES: nothing
  // was appended. Errors: DataError when they are absent.
  absl::Status Resume(uint64_t tokens);
  absl::Status Append(std::span<const uint16_t> ids);
  // Makes all appended ids survive a power loss.
  absl::Status Sync();
  // Ends the last shard.
  absl::Status Finish();
  uint64_t tokens() const { return tokens_; }
  uint64_t whole_shards() const { return tokens_ / shard_tokens_; }
  const std::vector<std::string>& names() const { return names_; }

 private:
  absl::Status Begin();
  std::string NextPath();  // adds its name to names_

  const std::string folder_;
  const std::string name_;
  const uint64_t shard_tokens_;
  const ShardFormat format_;
  std::optional<ShardWriter> writer_;
  uint64_t tokens_ = 0;
  std::vector<std::string> names_;
};

}  // namespace dt::corpus
