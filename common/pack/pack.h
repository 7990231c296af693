// pack.h: the files of a folder as one string of bytes, always the same for the same files.
//
// Role:      pure. The bytes name the code of an experiment by their sha256, so that nothing is in
//            them that differs between two machines: no times, no owners, no order of a listing.
// Format:    "dtrain code 1\n", then for each file, in byte order of the paths:
//              1 byte   'f' a file, 'x' one that is executable, 'l' a symbolic link
//              4 bytes  length of the path       8 bytes  length of the content
//              the path, relative, with '/' between its parts
//              the content; of a link, where it points
//            Numbers are little-endian. Folders are there because of their files; empty ones are
//            not.
// Errors:    InvalidArgument, naming the file and the fix. What comes from elsewhere is checked as
//            if an enemy had made it: Read refuses what Pack would not write.
// Bounds:    limits::kCodeBytes, kCodeFiles, kCodePathBytes.
// Invariant: Read takes what Pack writes, and nothing else: of the same files there is one form.
// Tests:     tests/common/pack/pack_test.cc, tests/fuzz/pack_fuzz.cc
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dt::pack {

enum class Kind : char {
  kFile = 'f',
  kExecutable = 'x',
  kLink = 'l',
};

struct File {
  std::string path;
  Kind kind = Kind::kFile;
  std::string content;  // of a link, where it points
};
// The same, as views into the packed bytes.
struct FileView {
  std::string_view path;
  Kind kind = Kind::kFile;
  std::string_view content;
};

// A size as the folder has it, before anything is read.
struct Sized {
  std::string path;
  uint64_t bytes = 0;
};

// Packed bytes of a file, without its content.
inline constexpr size_t kHeaderBytes = 1 + 4 + 8;

// In any order.
absl::StatusOr<std::string> Pack(std::vector<File> files);
// Every file, each checked. The views hold as long as `packed` does.
absl::StatusOr<std::vector<FileView>> Read(std::string_view packed);

// Whether so much may travel; the refusal names the largest files.
absl::Status CheckSizes(const std::vector<Sized>& files);
// Whether a file may have this path: relative, and without "..".
absl::Status CheckPath(std::string_view path);
// Whether the link at `path` may point to `target`. Links that stay inside whatever else is a link:
// ".." only at the front, and no more of them than there are folders above.
absl::Status CheckLink(std::string_view path, std::string_view target);
// Whether `digest` is one: 64 hex digits.
bool IsDigest(std::string_view digest);

}  // namespace dt::pack
