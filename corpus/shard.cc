// shard.cc: see shard.h.
#include "corpus/shard.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "common/sha256.h"

namespace dt::corpus {
namespace {

static_assert(std::endian::native == std::endian::little, "shards are read as they lie in memory");

constexpr size_t kFingerprintBytes = 1 << 20;
constexpr int32_t kShardMagicLlama3 = 20240801;

int32_t HeaderWord(std::string_view header, size_t index) {
  int32_t word = 0;
  std::memcpy(&word, header.data() + 4 * index, sizeof word);
  return word;
}

int32_t ByteSwapped(int32_t word) {
  return static_cast<int32_t>(__builtin_bswap32(static_cast<uint32_t>(word)));
}

Error BadShard(std::string reason) { return Error{ErrorKind::kData, std::move(reason)}; }

}  // namespace

Result<uint64_t> ParseShardHeader(std::string_view header, uint64_t file_bytes) {
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
    return BadShard("starts with " + std::to_string(magic) + ", not with the magic number " +
                    std::to_string(kShardMagic) + "; make shards with 'dtctl data tokenize'");
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

Result<TokenShard> TokenShard::Open(const std::string& path) {
  TokenShard shard;
  DT_TRY_ASSIGN(shard.file_, InputFile::Open(path));
  std::string header(std::min<uint64_t>(kShardHeaderBytes, shard.file_.bytes()), '\0');
  DT_TRY(shard.file_.ReadAt(0, header.data(), header.size()));
  Result<uint64_t> tokens = ParseShardHeader(header, shard.file_.bytes());
  if (!tokens.ok()) {
    return Error{tokens.error().kind, "'" + path + "' " + tokens.error().message};
  }
  shard.tokens_ = *tokens;
  return shard;
}

Result<void> TokenShard::Read(uint64_t first, std::span<uint16_t> ids) const {
  DT_CHECK(first <= tokens_ && ids.size() <= tokens_ - first);
  return file_.ReadAt(kShardHeaderBytes + 2 * first, ids.data(), ids.size_bytes());
}

Result<ShardWriter> ShardWriter::Create(const std::string& path) {
  ShardWriter writer;
  DT_TRY_ASSIGN(writer.file_, OutputFile::Create(path));
  const std::vector<char> header(kShardHeaderBytes, '\0');  // no magic: unfinished is unreadable
  DT_TRY(writer.file_.Append(header.data(), header.size()));
  return writer;
}

Result<void> ShardWriter::Append(std::span<const uint16_t> ids) {
  DT_CHECK(ids.size() <= kShardTokensMax - tokens_);
  DT_TRY(file_.Append(ids.data(), ids.size_bytes()));
  tokens_ += ids.size();
  return {};
}

Result<void> ShardWriter::Finish() {
  const int32_t header[3] = {kShardMagic, kShardVersion, static_cast<int32_t>(tokens_)};
  DT_TRY(file_.WriteAt(0, header, sizeof header));
  return file_.SyncAndClose();
}

Result<std::string> Fingerprint(std::span<const std::string> paths) {
  Sha256 hash;
  std::string buffer;
  for (const std::string& path : paths) {
    DT_TRY_ASSIGN(const InputFile file, InputFile::Open(path));
    const uint64_t bytes = file.bytes();
    hash.Update(&bytes, sizeof bytes);
    buffer.resize(std::min<uint64_t>(bytes, kFingerprintBytes));
    DT_TRY(file.ReadAt(0, buffer.data(), buffer.size()));
    hash.Update(buffer);
    if (bytes > kFingerprintBytes) {
      buffer.resize(std::min<uint64_t>(bytes - kFingerprintBytes, kFingerprintBytes));
      DT_TRY(file.ReadAt(bytes - buffer.size(), buffer.data(), buffer.size()));
      hash.Update(buffer);
    }
  }
  return hash.FinishHex();
}

}  // namespace dt::corpus
