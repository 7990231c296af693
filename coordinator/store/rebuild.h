// rebuild.h: makes a journal anew from what of it is whole: after damage that a person accepted,
// and from version 0.1.0's, which had no checksums.
//
// Role:      copies into a new file in one transaction and puts that into the old one's place, so
//            that a kill at any moment leaves a journal that a start can tell for what it is.
// Threads:   thread-compatible. REQUIRES: nobody has the journal open.
// Errors:    what the disk says. What cannot be read is dropped and told.
// Invariant: records are kept up to the first that does not follow, or from the newest whole
//            snapshot on where that is further; side rows where their checksum holds.
// Tests:     tests/coordinator/store/damage_test.cc
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace dt {

enum class Aside {
  kKeep,  // the old files go into a folder `damaged-N` beside them
  kDrop,
};

// Returns what was dropped, a line each. With kDrop nothing may be: then it is an error.
absl::StatusOr<std::vector<std::string>> RebuildJournal(const std::string& path, Aside aside);

// Finishes a rebuild that a kill cut short after the new file was whole: each start calls it first.
absl::Status TakeUpRebuilt(const std::string& path);

}  // namespace dt
