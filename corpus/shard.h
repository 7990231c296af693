// shard.h: files of token ids, little-endian uint16 after an optional header: llm.c's format (256
// int32 of header: magic 20240520, version 1, count), .npy, Megatron's .bin with its .idx, and bare
// ids.
//
// Role:    reads and writes one file. Files come from anywhere: nothing in them is trusted before
//          it is checked.
// Threads: a TokenShard may be read from several threads.
// Errors:  DataError for a malformed file, naming it, the error and the correct value.
// Tests:   tests/corpus/shard_test.cc, tests/corpus/shard_formats_test.cc, tests/fuzz/shard_fuzz.cc
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "common/files.h"
#include "common/status.h"

namespace dt::corpus {

inline constexpr int32_t kShardMagic = 20240520;
inline constexpr int32_t kShardVersion = 1;
inline constexpr size_t kShardHeaderBytes = 1024;
// llm.c keeps offsets in an int, so files of 2 GiB and more break it.
inline constexpr uint64_t kShardTokensMax = (uint64_t{1} << 30) - kShardHeaderBytes;

enum class ShardFormat {
  kAuto,      // decided by the file: one of the next three
  kLlmc,      // recognised by its magic
  kNpy,       // recognised by its magic
  kMegatron,  // a .bin with a Megatron index beside it
  kRawU16,
};
// Accepts auto, llmc, npy, megatron, raw_u16. Errors: ConfigError.
absl::StatusOr<ShardFormat> ShardFormatOf(std::string_view name);

// Checks a header in llm.c's format against the size of its file; returns the number of tokens.
// REQUIRES: header has kShardHeaderBytes bytes, or all bytes of a shorter file.
absl::StatusOr<uint64_t> ParseShardHeader(std::string_view header, uint64_t file_bytes);

class TokenShard {
 public:
  static absl::StatusOr<TokenShard> Open(const std::string& path,
                                         ShardFormat format = ShardFormat::kAuto);

  const std::string& path() const { return file_.path(); }
  uint64_t tokens() const { return tokens_; }
  uint64_t bytes() const { return file_.bytes(); }
  // Reads ids [first, first + ids.size()). REQUIRES: they lie within tokens().
  absl::Status Read(uint64_t first, std::span<uint16_t> ids) const;

 private:
  InputFile file_;
  uint64_t first_byte_ = 0;  // first byte of the ids
  uint64_t tokens_ = 0;
};

// Writes one shard. The file is complete only after Finish.
class ShardWriter {
 public:
  // REQUIRES: format is kLlmc or kNpy.
  static absl::StatusOr<ShardWriter> Create(const std::string& path,
                                            ShardFormat format = ShardFormat::kLlmc);

  // Continues after the first `tokens` of an unfinished shard. Errors: DataError when it is absent
  // or has fewer.
  static absl::StatusOr<ShardWriter> Reopen(const std::string& path, ShardFormat format,
                                            uint64_t tokens);

  // REQUIRES: tokens() + ids.size() <= kShardTokensMax.
  absl::Status Append(std::span<const uint16_t> ids);
  // Makes appended ids survive a power loss; the file is no shard yet.
  absl::Status Sync() { return file_.Sync(); }
  // Writes the header, syncs and closes.
  absl::Status Finish();
  uint64_t tokens() const { return tokens_; }

 private:
  OutputFile file_;
  ShardFormat format_ = ShardFormat::kLlmc;
  uint64_t tokens_ = 0;
};

}  // namespace dt::corpus
