// rebuild.h: rebuilds a journal from its undamaged parts: after damage that a person accepted, and
// from version 0.1.0's format, which had no checksums.
//
// Role:      copies into a new file in one transaction and then replaces the old file, so that a
//            kill at any moment leaves a journal that the next start can recognise.
// Threads:   thread-compatible. REQUIRES: no process has the journal open.
// Errors:    those of the disk. Unreadable parts are dropped and reported.
// Invariant: keeps records up to the first that does not follow, or from the newest undamaged
//            snapshot on if that is further. Keeps side rows whose checksum matches.
// Tests:     tests/coordinator/store/damage_test.cc
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace dt {

enum class OldFiles {
  kKeep,  // moves the old files into a folder `damaged-N` beside them
  kDrop,
};

// Returns a line for each dropped part. With kDrop, nothing may be dropped: that is an error.
absl::StatusOr<std::vector<std::string>> RebuildJournal(const std::string& path, OldFiles aside);

// Finishes a rebuild that a kill interrupted after the new file was complete. Each start calls this
// first.
absl::Status TakeUpRebuilt(const std::string& path);

}  // namespace dt
