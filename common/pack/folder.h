// folder.h: a folder on disk to packed code, and packed code to a folder.
//
// Role:      which files travel, and what they are on disk; the bytes are pack.h's.
// Threads:   any; it reads and writes files, and may wait for git.
// Errors:    InvalidArgument where the folder cannot travel, or the bytes are not what Pack makes;
//            IoError or DataError of the disk. Each names the file and the fix.
// Bounds:    those of pack.h, looked at before a file is read.
// Tests:     tests/common/pack/folder_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dt::pack {

struct PackedFolder {
  std::string bytes;
  std::string digest;  // sha256 of `bytes`, hex
  uint32_t files = 0;
  std::string revision;  // of its git work tree; "": it has none
  std::string changes;   // against that revision; "": none
  std::string note;      // what the person should know; "": nothing
};

// In a git work tree: what git tracks or would track. Else every file but those of version control,
// caches and virtual environments, and of what a .gitignore names; where there is one and git,
// which reads it, cannot be asked, the folder is refused.
// `include`: patterns (pattern.h) of files that travel besides. One without a file is an error.
absl::StatusOr<PackedFolder> PackFolder(const std::string& folder,
                                        const std::vector<std::string>& include = {});

// Writes every file below `folder`, which is made and must not be there yet. What was begun is
// removed again where it fails. Files are the owner's alone, and writable.
absl::Status UnpackInto(std::string_view packed, const std::string& folder);

}  // namespace dt::pack
