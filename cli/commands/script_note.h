// script_note.h: what is known of a command before it runs: a script or an interpreter that its
// trials may not find, and whether the script looks for its parameters.
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
// Whether a file of `folder` that the command names looks for its parameters by itself: in
// dtrain.parameters() or DTRAIN_PARAMETERS.
bool ReadsParameters(const std::string& folder, const v1::Spec& base);
// A sentence where the command begins with a bare `python` or `python3`, which workers look for in
// their own PATH, while an environment of Python is active here: `prefix`, its folder. "": none is.
std::string InterpreterNote(const std::string& prefix, const v1::Spec& base);

}  // namespace dt::cli
