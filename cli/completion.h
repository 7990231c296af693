// completion.h: shell completion, made by walking the tree of commands.
//
// Role:   pure. Completes commands, options, and file names after `submit` and `validate`.
// Errors: InvalidArgument naming the shells there are.
// Tests:  tests/cli/completion_test.cc
#pragma once

#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"

namespace dt::cli {

absl::StatusOr<std::string> CompletionScript(const CLI::App& root, const std::string& shell);

}  // namespace dt::cli
