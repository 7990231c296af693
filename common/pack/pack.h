// pack.h: the files of a folder as one string of bytes, always the same for the same files.
//
// Role:      pure. The bytes name the code of an experiment by their sha256, so they contain
//            nothing that differs between two machines: no times, no owners, no order of a listing.
// Format:    "dtrain code 1\n", then for each file, in byte order of the paths:
//              1 byte   'f' a file, 'x' one that is executable, 'l' a symbolic link
//              4 bytes  length of the path       8 bytes  length of the content
//              the path, relative, with '/' between its parts
//              the content; of a link, where it points
//            Numbers are little-endian. Folders are there because of their files; empty ones are
//            not.
// Errors:    InvalidArgument, naming the file and the fix. Input is treated as hostile: Read
//            refuses everything that Pack would not write.
// Bounds:    limits::kCodeBytes, kCodeFiles, kCodePathBytes.
// Invariant: Read accepts only Pack's output, so the same files have exactly one form.
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
  std::string content;  // for a link, its target
};
// A file as views into the packed bytes.
struct FileView {
  std::string_view path;
  Kind kind = Kind::kFile;
  std::string_view content;
};

// A file's size in the folder, before its content is read.
struct Sized {
  std::string path;
  uint64_t bytes = 0;
};

// Packed bytes of a file besides its path and content.
inline constexpr size_t kHeaderBytes = 1 + 4 + 8;

// Packs files given in any order.
absl::StatusOr<std::string> Pack(std::vector<File> files);
// Returns every file, each checked. The views are valid as long as `packed`.
absl::StatusOr<std::vector<FileView>> Read(std::string_view packed);

// Returns an error if the sizes exceed the bounds; it names the largest files.
absl::Status CheckSizes(const std::vector<Sized>& files);
// Returns an error unless the path is allowed: relative, and without "..".
absl::Status CheckPath(std::string_view path);
// Returns an error unless the link at `path` may point to `target`. An allowed link stays inside
// the folder whatever other links there are: ".." only at the front, and no more of them than there
// are folders above.
absl::Status CheckLink(std::string_view path, std::string_view target);
// Returns whether `digest` is 64 hex digits.
bool IsDigest(std::string_view digest);

}  // namespace dt::pack
