// lookup.h: which file a program is, and why one does not start.
//
// Threads: any; it looks at files.
// Errors:  ConfigError, which ends the trial: the word, the PATH and the fix.
// Tests:   tests/worker/program/lookup_test.cc
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/spawn.h"

namespace dt::program {

// Returns the file that a word names, looked for in the environment's PATH as a shell does.
absl::StatusOr<std::string> FindProgram(const std::string& word, const Environment& environment);
// Says what is wrong with the first line of a script that the system did not start. "": the file
// does not tell.
std::string HintAtScript(const std::string& file);

}  // namespace dt::program
