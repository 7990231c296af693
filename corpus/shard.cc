// shard.cc: see shard.h.
#include "corpus/shard.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "common/check.h"
#include "corpus/megatron.h"
#include "corpus/npy.h"

namespace dt::corpus {
namespace {

static_assert(std::endian::native == std::endian::little, "shards are read as they lie in memory");

constexpr int32_t kShardMagicLlama3 = 20240801;

int32_t HeaderWord(std::string_view header, size_t index) {
  int32_t word = 0;
  std::memcpy(&word, header.data() + 4 * index, sizeof word);
  return word;
}

int32_t ByteSwapped(int32_t word) {
  return static_cast<int32_t>(__builtin_bswap32(static_cast<uint32_t>(word)));
}

absl::Status BadShard(std::string reason) { return DataError(std::move(reason)); }

struct Layout {
  uint64_t first_byte = 0;
  uint64_t tokens = 0;
};

absl::StatusOr<std::string> StartOf(const InputFile& file, size_t bytes_max) {
  std::string start(std::min<uint64_t>(bytes_max, file.bytes()), '\0');
  DT_RETURN_IF_ERROR(file.ReadAt(0, start.data(), start.size()));
  return start;
}

absl::StatusOr<ShardFormat> Recognised(const std::string& path, std::string_view start) {
  if (IsNpy(start)) return ShardFormat::kNpy;
  if (IsMegatronIndex(start)) {
    return BadShard("'" + path + "' is the index of a Megatron file; name the .bin files alone");
  }
  const std::string index_path = MegatronIndexOf(path);
  std::error_code code;
  if (!index_path.empty() && std::filesystem::exists(index_path, code)) {
    DT_ASSIGN_OR_RETURN(const InputFile index, InputFile::Open(index_path));
    DT_ASSIGN_OR_RETURN(const std::string index_start, StartOf(index, kMegatronHeaderBytes));
    if (IsMegatronIndex(index_start)) return ShardFormat::kMegatron;
  }
  return ShardFormat::kLlmc;
}

absl::StatusOr<Layout> MegatronLayout(const InputFile& file) {
  const std::string index_path = MegatronIndexOf(file.path());
  if (index_path.empty()) {
    return BadShard("is not named .bin; name Megatron's .bin files, beside which the .idx are");
  }
  const absl::StatusOr<InputFile> index = InputFile::Open(index_path);
  if (!index.ok())
    return BadShard(absl::StrCat("has no Megatron index: ", index.status().message()));
  if (absl::Status checked = CheckMegatronIndex(*index, file.bytes()); !checked.ok()) {
    return Annotate(checked, "has an index that cannot be used: '" + index_path + "'");
  }
  return Layout{0, file.bytes() / 2};
}

// Names the format of a file with a header, by its first bytes; "": unknown.
const char* KnownHeader(std::string_view start) {
  if (IsNpy(start)) return "of a .npy file";
  if (IsMegatronIndex(start)) return "of a Megatron index";
  if (start.size() < 2 * sizeof(int32_t)) return "";
  const int32_t magic = HeaderWord(start, 0);
  const bool llmc = magic == kShardMagic || magic == ByteSwapped(kShardMagic);
  return llmc || magic == kShardMagicLlama3 ? "of an llm.c shard" : "";
}

absl::StatusOr<Layout> RawLayout(const InputFile& file, std::string_view start) {
  if (const std::string known = KnownHeader(start); !known.empty()) {
    return BadShard("begins with the header " + known +
                    ", which would be read as tokens; leave data.format out, which tells by it");
  }
  if (file.bytes() == 0 || file.bytes() % 2 != 0) {
    return BadShard("has " + std::to_string(file.bytes()) +
                    " bytes; ids of 16 bits need an even number of them");
  }
  return Layout{0, file.bytes() / 2};
}

// `start` holds its first bytes. REQUIRES: format is not kAuto.
absl::StatusOr<Layout> LayoutOf(const InputFile& file, std::string_view start, ShardFormat format) {
  switch (format) {
    case ShardFormat::kAuto:
    case ShardFormat::kLlmc: {
      DT_ASSIGN_OR_RETURN(const uint64_t tokens,
                          ParseShardHeader(start.substr(0, kShardHeaderBytes), file.bytes()));
      return Layout{kShardHeaderBytes, tokens};
    }
    case ShardFormat::kNpy: {
      DT_ASSIGN_OR_RETURN(const NpyLayout npy, ParseNpyHeader(start, file.bytes()));
      return Layout{npy.first_byte, npy.tokens};
    }
    case ShardFormat::kMegatron:
      return MegatronLayout(file);
    case ShardFormat::kRawU16:
      return RawLayout(file, start);
  }
  return BadShard("has no known format");
}

// Properties of a ShardWriter's files.
size_t HeaderBytes(ShardFormat format) {
  return format == ShardFormat::kNpy ? kNpyHeaderBytes : kShardHeaderBytes;
}

}  // namespace

absl::StatusOr<uint64_t> ParseShardHeader(std::string_view header, uint64_t file_bytes) {
  if (header.size() < kShardHeaderBytes) {
    return BadShard("has " + std::to_string(file_bytes) + " bytes, less than the header's " +
                    std::to_string(kShardHeaderBytes) + "; it is not a token shard");
  }
  const int32_t magic = HeaderWord(header, 0);
  if (magic == ByteSwapped(kShardMagic)) {
    return BadShard("was written in big-endian byte order; write it on a little-endian machine");
  }
  if (magic == kShardMagicLlama3) {
    return BadShard("holds 32-bit ids (magic 20240801), which are not read; use 16-bit shards");
  }
  if (magic != kShardMagic) {
    return BadShard(
        "starts with " + std::to_string(magic) + ", not with the magic number " +
        std::to_string(kShardMagic) +
        "; make shards with 'dtctl data tokenize', or say data.format: raw_u16 of bare ids");
  }
  const int32_t version = HeaderWord(header, 1);
  if (version != kShardVersion) {
    return BadShard("has version " + std::to_string(version) + "; only version " +
                    std::to_string(kShardVersion) + " is read");
  }
  const int32_t count = HeaderWord(header, 2);
  if (count <= 0) {
    return BadShard("says that it holds " + std::to_string(count) + " tokens; it must hold some");
  }
  const uint64_t expected = kShardHeaderBytes + 2 * static_cast<uint64_t>(count);
  if (file_bytes != expected) {
    return BadShard("says that it holds " + std::to_string(count) + " tokens, which take " +
                    std::to_string(expected) + " bytes, but it has " + std::to_string(file_bytes) +
                    "; copy or make it again");
  }
  return static_cast<uint64_t>(count);
}

absl::StatusOr<ShardFormat> ShardFormatOf(std::string_view name) {
  constexpr std::pair<std::string_view, ShardFormat> kNames[] = {
      {"auto", ShardFormat::kAuto},
      {"llmc", ShardFormat::kLlmc},
      {"npy", ShardFormat::kNpy},
      {"megatron", ShardFormat::kMegatron},
      {"raw_u16", ShardFormat::kRawU16}};
  for (const auto& [known, format] : kNames) {
    if (name == known) return format;
  }
  return ConfigError("data.format is '" + std::string(name) +
                     "'; use auto, llmc, npy, megatron or raw_u16");
}

absl::StatusOr<TokenShard> TokenShard::Open(const std::string& path, ShardFormat format) {
  TokenShard shard;
  DT_ASSIGN_OR_RETURN(shard.file_, InputFile::Open(path));
  DT_ASSIGN_OR_RETURN(const std::string start, StartOf(shard.file_, kNpyHeaderMax));
  if (format == ShardFormat::kAuto) {
    DT_ASSIGN_OR_RETURN(format, Recognised(path, start));
  }
  const absl::StatusOr<Layout> layout = LayoutOf(shard.file_, start, format);
  if (!layout.ok()) {
    return StatusOf(layout.status().code(),
                    absl::StrCat("'", path, "' ", layout.status().message()));
  }
  if (layout->tokens == 0) return BadShard("'" + path + "' holds no tokens");
  shard.first_byte_ = layout->first_byte;
  shard.tokens_ = layout->tokens;
  return shard;
}

absl::Status TokenShard::Read(uint64_t first, std::span<uint16_t> ids) const {
  DT_CHECK(first <= tokens_ && ids.size() <= tokens_ - first);
  return file_.ReadAt(first_byte_ + 2 * first, ids.data(), ids.size_bytes());
}

absl::StatusOr<ShardWriter> ShardWriter::Create(const std::string& path, ShardFormat format) {
  DT_CHECK(format == ShardFormat::kLlmc || format == ShardFormat::kNpy);
  ShardWriter writer;
  writer.format_ = format;
  DT_ASSIGN_OR_RETURN(writer.file_, OutputFile::Create(path));
  const std::vector<char> header(HeaderBytes(format), '\0');  // no magic, so that an unfinished
                                                              // file is unreadable
  DT_RETURN_IF_ERROR(writer.file_.Append(header.data(), header.size()));
  return writer;
}

absl::StatusOr<ShardWriter> ShardWriter::Reopen(const std::string& path, ShardFormat format,
                                                uint64_t tokens) {
  ShardWriter writer;
  writer.format_ = format;
  writer.tokens_ = tokens;
  DT_ASSIGN_OR_RETURN(writer.file_, OutputFile::Reopen(path, HeaderBytes(format) + 2 * tokens));
  return writer;
}

absl::Status ShardWriter::Append(std::span<const uint16_t> ids) {
  DT_CHECK(ids.size() <= kShardTokensMax - tokens_);
  DT_RETURN_IF_ERROR(file_.Append(ids.data(), ids.size_bytes()));
  tokens_ += ids.size();
  return absl::OkStatus();
}

absl::Status ShardWriter::Finish() {
  if (format_ == ShardFormat::kNpy) {
    const std::string header = NpyHeader(tokens_);
    DT_RETURN_IF_ERROR(file_.WriteAt(0, header.data(), header.size()));
  } else {
    const int32_t header[3] = {kShardMagic, kShardVersion, static_cast<int32_t>(tokens_)};
    DT_RETURN_IF_ERROR(file_.WriteAt(0, header, sizeof header));
  }
  return file_.SyncAndClose();
}

}  // namespace dt::corpus
