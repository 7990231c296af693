// lookup.h: finds the file of a program, and why one does not start.
//
// Threads: any; it reads files.
// Errors:  ConfigError, which ends the trial: the word, the PATH and the fix.
// Tests:   tests/worker/program/lookup_test.cc
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/spawn.h"

namespace dt::program {

// Returns the file that a word names, looked for in the environment's PATH as a shell does.
absl::StatusOr<std::string> FindProgram(const std::string& word, const Environment& environment);
// Explains what is wrong with the first line of a script that the system did not start. "": the
// file does not show it.
std::string HintAtScript(const std::string& file);

}  // namespace dt::program
