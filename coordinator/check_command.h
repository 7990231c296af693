// check_command.h: `dtcoord check JOURNAL`: reads a whole journal offline and prints what it found.
//
// Tests: tests/coordinator/dtcoord_test.cc
#pragma once

#include <string>

namespace dt {

// `journal` is a state folder or the file itself. Returns the exit code.
int CheckCommand(const std::string& journal);

}  // namespace dt
