// script_note.h: a script that a command names and that its folder of code does not have.
//
// Threads: any; it reads the folder.
// Tests:   tests/cli/commands/code_command_test.cc
#pragma once

#include <string>

#include "dtrain/v1/model.pb.h"

namespace dt::cli {

// A sentence on the first script that `command` or `run` names, a relative *.py or *.sh or
// ./NAME, where `folder` has no such file. "": it is there, or the command does not tell.
std::string MissingScriptNote(const std::string& folder, const v1::Spec& base);

}  // namespace dt::cli
