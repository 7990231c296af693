// run_files.h: removes files that the workers of a cluster left in the run folder, which other
// clusters of this user may share.
//
// Role:    for `dtctl down --purge`. Locks of GPUs stay: they are empty, and another worker may be
//          about to take one.
// Threads: one thread. REQUIRES: the workers with this storage have ended.
// Errors:  a file that cannot be removed, by its name.
// Invariant: removes files of this storage's slots and packed code of these digests alone, and
//          follows no link. Packed code is a copy: a worker that lacks it gets it again.
// Tests:   tests/cli/local/run_files_test.cc
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace dt::cli {

// Returns the id in a storage's folder; "": no worker has opened it.
std::string StorageIdIn(const std::string& storage);
// Returns the sha256 of each packed code in a coordinator's folder.
std::vector<std::string> DigestsIn(const std::string& coordinator);
// Removes also the folders that are then empty.
absl::Status RemoveRunFiles(const std::string& run_folder, const std::string& storage_id,
                            const std::vector<std::string>& digests);

}  // namespace dt::cli
