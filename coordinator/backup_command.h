// backup_command.h: `dtcoord backup STATE --output FOLDER`: copies the journal and packed code of a
// state folder while its coordinator runs.
//
// Invariant: FOLDER appears complete, checked and durable, or not at all; an existing FOLDER stays
//            as it is.
// Tests:     tests/coordinator/dtcoord_test.cc
#pragma once

#include <string>

namespace dt {

// Returns the exit code: 0; 1: failed; 2: wrong usage.
int BackupCommand(const std::string& state, const std::string& output);

}  // namespace dt
