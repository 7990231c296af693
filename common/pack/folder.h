// folder.h: packs a folder on disk, and unpacks it again.
//
// Role:      decides which files are packed, and reads and writes them; pack.h makes the bytes.
// Threads:   any; it reads and writes files, and may wait for git.
// Errors:    InvalidArgument if the folder cannot be packed, or the bytes are not Pack's; IoError
//            or DataError of the disk. Each names the file and the fix.
// Bounds:    those of pack.h, checked before a file is read.
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
  std::string revision;  // of its git work tree; "": not in one
  std::string changes;   // since that revision; "": none
  std::string note;      // for the person to read; "": nothing
};

// Packs, in a git work tree, the files that git tracks or would track. Elsewhere packs every file
// except version control, caches, virtual environments and files named by a .gitignore; if there is
// a .gitignore but git, which reads it, cannot be asked, the folder is refused. `include`: patterns
// (pattern.h) of files to add. A pattern that matches no file is an error.
absl::StatusOr<PackedFolder> PackFolder(const std::string& folder,
                                        const std::vector<std::string>& include = {});

// Writes every file below `folder`, which is made and must not exist yet. On failure removes what
// it wrote. The files belong to the owner alone and are writable.
absl::Status UnpackInto(std::string_view packed, const std::string& folder);

}  // namespace dt::pack
