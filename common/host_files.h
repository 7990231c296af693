// host_files.h: files that workers keep on a host: their places and names, which `dtctl down` needs
// too.
//
// Role:   names alone; worker/shell/ makes the files.
// Layout: RUN FOLDER/slot-NAME-STORAGE ID.…    locks, lives and scratch of a CPU slot
//         RUN FOLDER/slot-GPU.…                the same of a GPU, for all workers that may use it
//         RUN FOLDER/code/                     packed code by its sha256, and a folder a slot
// Tests:  tests/cli/local/run_files_test.cc
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dt {

// Begins the names of a slot's files.
inline constexpr char kSlotPrefix[] = "slot-";
inline constexpr char kCodeFolder[] = "/code";
// File of a storage that holds its id, and the hex digits of that.
inline constexpr char kStorageIdFile[] = "/dtrain-storage-id";
inline constexpr size_t kStorageIdDigits = 32;
// Returns whether the text has the form of such an id.
bool IsStorageId(std::string_view text);

// Returns the default run folder: $RUNTIME_DIRECTORY, $XDG_RUNTIME_DIR/dtrain, or one of this user
// in the temporary folder.
std::string DefaultRunFolder();

}  // namespace dt
