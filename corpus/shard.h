// shard.h: files of token ids in llm.c's format: 256 little-endian int32 of header (magic 20240520,
// version 1, count), then `count` little-endian uint16.
//
// Role:    reads and writes one file. Files come from anywhere: nothing in them is believed before
//          it is checked.
// Threads: a TokenShard may be read from several threads.
// Errors:  kData for a malformed file, naming it, what is wrong and what would be right.
// Tests:   tests/corpus/shard_test.cc, tests/fuzz/shard_fuzz.cc
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "common/files.h"
#include "common/result.h"

namespace dt::corpus {

inline constexpr int32_t kShardMagic = 20240520;
inline constexpr int32_t kShardVersion = 1;
inline constexpr size_t kShardHeaderBytes = 1024;
// llm.c keeps offsets in an int, so that files of 2 GiB and more break it.
inline constexpr uint64_t kShardTokensMax = (uint64_t{1} << 30) - kShardHeaderBytes;

// Checks a header against the size of its file; returns the number of tokens.
// REQUIRES: header has kShardHeaderBytes bytes, or the whole file when that is shorter.
Result<uint64_t> ParseShardHeader(std::string_view header, uint64_t file_bytes);

class TokenShard {
 public:
  static Result<TokenShard> Open(const std::string& path);

  const std::string& path() const { return file_.path(); }
  uint64_t tokens() const { return tokens_; }
  uint64_t bytes() const { return file_.bytes(); }
  // Reads ids [first, first + ids.size()). REQUIRES: they lie within tokens().
  Result<void> Read(uint64_t first, std::span<uint16_t> ids) const;

 private:
  InputFile file_;
  uint64_t tokens_ = 0;
};

// Writes one shard. The file is complete only after Finish.
class ShardWriter {
 public:
  static Result<ShardWriter> Create(const std::string& path);

  // REQUIRES: tokens() + ids.size() <= kShardTokensMax.
  Result<void> Append(std::span<const uint16_t> ids);
  // Writes the header, syncs and closes.
  Result<void> Finish();
  uint64_t tokens() const { return tokens_; }

 private:
  OutputFile file_;
  uint64_t tokens_ = 0;
};

// One hash for a list of files in order: of each, its size, its first MiB (the header is part of
// it) and its last MiB. Names are left out, so that two hosts may keep the same data in different
// places.
Result<std::string> Fingerprint(std::span<const std::string> paths);

}  // namespace dt::corpus
