// check_command.h: `dtcoord check`: reads a whole journal and prints what it found.
//
// Tests: tests/coordinator/dtcoord_test.cc
#pragma once

#include <string>

namespace dt {

// `journal` is a state folder or the file itself. Returns the exit code.
int CheckCommand(const std::string& journal);

// The journal in the database that the file of --database-file leads to, as of now: a coordinator
// may write meanwhile. Returns the exit code.
int CheckDatabaseCommand(const std::string& file);

}  // namespace dt
