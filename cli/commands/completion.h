// completion.h: shell completion, made by walking the tree of commands.
//
// Role:   pure. Completes commands, options, the words that the tree knows for an option or
//         argument, and file names where one is wanted.
// Errors: InvalidArgument naming the shells there are.
// Tests:  tests/cli/commands/completion_test.cc
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "cli/commands/app.h"

namespace dt::cli {

absl::StatusOr<std::string> CompletionScript(const CommandTree& tree, const std::string& shell);

}  // namespace dt::cli
