// check_command.h: `dtcoord check`: reads a complete journal and prints its findings.
//
// Tests: tests/coordinator/dtcoord_test.cc
#pragma once

#include <string>

namespace dt {

// Checks `journal`, a state folder or the file itself. Returns the exit code.
int CheckCommand(const std::string& journal);

// Checks the journal in the database named in the file of --database-file, as of now; a coordinator
// may write meanwhile. Returns the exit code.
int CheckDatabaseCommand(const std::string& file);

}  // namespace dt
