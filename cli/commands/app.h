// app.h: parses and runs one command line.
//
// Role:   main.cc and the tests call Run.
// Errors: Run prints them: as text, or as one JSON object with -o json, on stderr.
// Tests:  tests/cli/commands/command_test.cc
#pragma once

#include <string>
#include <vector>

#include "cli/remote/session.h"

namespace dt::cli {

// Parses and runs one command line, without the program's name. Returns the exit code.
int Run(const std::vector<std::string>& arguments, const Terminal& terminal, Interrupt& interrupt,
        const Pace& pace);

}  // namespace dt::cli
