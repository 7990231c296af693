// fingerprint.cc: see fingerprint.h.
#include "corpus/fingerprint.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/draw.h"
#include "common/files.h"
#include "common/sha256.h"

namespace dt::corpus {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kReadAtOnce = 1 << 20;
constexpr uint64_t kPageSeed = 0x64747261696e;

// The version of the method; the one of 0.2.0 had no such mark.
constexpr std::string_view kMark = "2:";

absl::Status AddBytes(const InputFile& file, uint64_t first, uint64_t bytes, Sha256& hash) {
  std::string piece;
  for (uint64_t at = 0; at < bytes; at += piece.size()) {
    piece.resize(std::min(bytes - at, kReadAtOnce));
    DT_RETURN_IF_ERROR(file.ReadAt(first + at, piece.data(), piece.size()));
    hash.Update(piece);
  }
  return absl::OkStatus();
}

// Adds the first page, where the header is, the last one, and between them one page of each part.
absl::Status AddPages(const InputFile& file, uint64_t number, uint64_t pages, Sha256& hash) {
  const uint64_t bytes = file.bytes();
  if (bytes <= (pages + 2) * kPageBytes) return AddBytes(file, 0, bytes, hash);
  DT_RETURN_IF_ERROR(AddBytes(file, 0, kPageBytes, hash));
  const uint64_t part = bytes / pages;
  for (uint64_t page = 0; page < pages; ++page) {
    const uint64_t drawn = SplitMix64(kPageSeed ^ SplitMix64(number) ^ SplitMix64(bytes + page));
    DT_RETURN_IF_ERROR(
        AddBytes(file, page * part + drawn % (part - kPageBytes + 1), kPageBytes, hash));
  }
  return AddBytes(file, bytes - kPageBytes, kPageBytes, hash);
}

}  // namespace

absl::StatusOr<std::string> Fingerprint(std::span<const std::string> paths,
                                        const FingerprintBounds& bounds) {
  std::vector<uint64_t> sizes;
  uint64_t total = 0;
  for (const std::string& path : paths) {
    DT_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
    sizes.push_back(file.bytes());
    total += file.bytes();
  }
  Sha256 hash;
  for (uint64_t number = 0; number < paths.size(); ++number) {
    DT_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(paths[number]));
    const uint64_t bytes = file.bytes();
    hash.Update(&bytes, sizeof bytes);
    const double share =
        static_cast<double>(sizes[number]) / static_cast<double>(std::max<uint64_t>(total, 1));
    const auto pages = static_cast<uint64_t>(static_cast<double>(bounds.pages) * share);
    DT_RETURN_IF_ERROR(total <= bounds.all_bytes
                           ? AddBytes(file, 0, bytes, hash)
                           : AddPages(file, number, std::max(pages, bounds.pages_least), hash));
  }
  return absl::StrCat(std::string(kMark), hash.FinishHex());
}

bool AreComparable(std::string_view one, std::string_view other) {
  return one.starts_with(kMark) == other.starts_with(kMark);
}

}  // namespace dt::corpus
