// backup_command.h: `dtcoord backup STATE --output FOLDER`: the journal and packed code of a state
// folder, copied while its coordinator goes on.
//
// Invariant: FOLDER appears whole, checked and durable, or not at all; what was there stays.
// Tests:     tests/coordinator/dtcoord_test.cc
#pragma once

#include <string>

namespace dt {

// Returns the exit code: 0, 1: it failed, 2: wrong usage.
int BackupCommand(const std::string& state, const std::string& output);

}  // namespace dt
