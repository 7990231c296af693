// offline_journal.h: descriptions of a journal that no process writes to.
//
// Errors: MissingCode: obstacles to reading.
// Tests:  tests/coordinator/dtcoord_test.cc
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/store/check.h"

namespace dt {

// Returns the journal's file; `place` is a state folder or the file itself.
std::string JournalPathOf(const std::string& place);

// Describes how much the journal contains.
std::string ContentsOf(const JournalReport& report);

// Returns a sentence for each code that experiments of an undamaged journal name and `folder`
// lacks.
absl::StatusOr<std::vector<std::string>> MissingCode(const std::string& path,
                                                     const std::string& folder);

}  // namespace dt
