// offline_journal.h: what the commands say of a journal that nobody writes to.
//
// Errors: of MissingCode: what hinders reading.
// Tests:  tests/coordinator/dtcoord_test.cc
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/store/check.h"

namespace dt {

// The file, where `place` is a state folder or the file itself.
std::string JournalPathOf(const std::string& place);

// How much of what it holds, in words.
std::string ContentsOf(const JournalReport& report);

// What experiments of a whole journal name and `folder` has not got, a sentence each.
absl::StatusOr<std::vector<std::string>> MissingCode(const std::string& path,
                                                     const std::string& folder);

}  // namespace dt
