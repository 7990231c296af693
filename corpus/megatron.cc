// megatron.cc: see megatron.h. An index has 9 bytes of magic, u64 version, u8 type, u64 sequences,
// u64 documents; then each sequence's length as i32, then each sequence's first byte as i64; then
// each document's first sequence as i64; and optionally each sequence's mode as i8.
#include "corpus/megatron.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace dt::corpus {
namespace {

constexpr std::string_view kIndexMagic("MMIDIDX\0\0", 9);
constexpr uint8_t kTypeU16 = 8;
constexpr size_t kChunk = 1 << 16;  // sequences checked at once

absl::Status RefusedIndex(std::string reason) { return DataError(std::move(reason)); }

uint64_t Word(std::string_view header, size_t offset) {
  uint64_t word = 0;
  std::memcpy(&word, header.data() + offset, sizeof word);
  return word;
}

std::string TypeName(uint8_t type) {
  constexpr std::array<const char*, 9> kNames = {"nothing", "uint8",   "int8",    "int16", "int32",
                                                 "int64",   "float64", "float32", "uint16"};
  return type < kNames.size() ? kNames[type] : "type " + std::to_string(type);
}

}  // namespace

bool IsMegatronIndex(std::string_view start) { return start.starts_with(kIndexMagic); }

std::string MegatronIndexOf(const std::string& bin_path) {
  if (!bin_path.ends_with(".bin")) return "";
  return bin_path.substr(0, bin_path.size() - 4) + ".idx";
}

absl::StatusOr<uint64_t> ParseMegatronHeader(std::string_view header, uint64_t file_bytes) {
  if (!IsMegatronIndex(header) || header.size() < kMegatronHeaderBytes) {
    return RefusedIndex(
        "is not a Megatron index: it does not begin with MMIDIDX and a complete header");
  }
  if (const uint64_t version = Word(header, 9); version != 1) {
    return RefusedIndex("has version " + std::to_string(version) + "; only version 1 is read");
  }
  if (const auto type = static_cast<uint8_t>(header[17]); type != kTypeU16) {
    return RefusedIndex("says that the ids are " + TypeName(type) +
                        "; only uint16 is read: preprocess with a vocabulary below 65500 tokens");
  }
  const uint64_t sequences = Word(header, 18);
  const uint64_t documents = Word(header, 26);
  const uint64_t body = std::max(file_bytes, uint64_t{kMegatronHeaderBytes}) - kMegatronHeaderBytes;
  // Both are bounded before they are multiplied.
  const bool possible = sequences <= body / 12 && documents <= body / 8;
  const uint64_t expected = possible ? 12 * sequences + 8 * documents : 0;
  if (!possible || (body != expected && body != expected + sequences)) {
    return RefusedIndex("says that it lists " + std::to_string(sequences) + " sequences and " +
                        std::to_string(documents) + " documents, which its " +
                        std::to_string(file_bytes) + " bytes are not; copy or make it again");
  }
  if (sequences == 0) return RefusedIndex("lists no sequences");
  return sequences;
}

absl::Status CheckMegatronIndex(const InputFile& index, uint64_t bin_bytes) {
  std::string header(std::min<uint64_t>(kMegatronHeaderBytes, index.bytes()), '\0');
  DT_RETURN_IF_ERROR(index.ReadAt(0, header.data(), header.size()));
  DT_ASSIGN_OR_RETURN(const uint64_t sequences, ParseMegatronHeader(header, index.bytes()));
  std::vector<int32_t> lengths;
  std::vector<int64_t> starts;
  uint64_t next = 0;  // byte of the .bin
  for (uint64_t first = 0; first < sequences; first += kChunk) {
    const size_t count = std::min<uint64_t>(kChunk, sequences - first);
    lengths.resize(count);
    starts.resize(count);
    DT_RETURN_IF_ERROR(index.ReadAt(kMegatronHeaderBytes + 4 * first, lengths.data(), 4 * count));
    DT_RETURN_IF_ERROR(
        index.ReadAt(kMegatronHeaderBytes + 4 * sequences + 8 * first, starts.data(), 8 * count));
    for (size_t i = 0; i < count; ++i) {
      const bool follows = starts[i] >= 0 && static_cast<uint64_t>(starts[i]) == next;
      if (!follows || lengths[i] < 0 || 2 * static_cast<uint64_t>(lengths[i]) > bin_bytes - next) {
        return RefusedIndex("says that sequence " + std::to_string(first + i) + " has " +
                            std::to_string(lengths[i]) + " tokens from byte " +
                            std::to_string(starts[i]) + " on, where " + std::to_string(next) +
                            " of " + std::to_string(bin_bytes) +
                            " bytes come before it; sequences must follow one another");
      }
      next += 2 * static_cast<uint64_t>(lengths[i]);
    }
  }
  if (next == bin_bytes) return absl::OkStatus();
  return RefusedIndex("lists sequences of " + std::to_string(next) + " bytes, but its .bin has " +
                      std::to_string(bin_bytes) + "; copy or make both again");
}

}  // namespace dt::corpus
