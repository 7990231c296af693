// script_note.h: notes on a command before it runs: a script or an interpreter that its trials may
// not find, and whether the script reads its parameters.
//
// Threads: any; it reads the folder.
// Tests:   tests/cli/commands/code_command_test.cc
#pragma once

#include <string>

#include "dtrain/v1/model.pb.h"

namespace dt::cli {

namespace v1 = ::dtrain::v1;

// Returns a sentence on the first script that `command` or `run` names (a relative *.py or *.sh, or
// ./NAME) and `folder` does not have; "" if it exists, or no script can be recognised.
std::string MissingScriptNote(const std::string& folder, const v1::Spec& base);
// Returns a sentence on the first *.py or *.sh with a relative path that the command names, if no
// code is sent and no `workdir` is named: a trial starts in an empty folder then. "": all is well.
std::string UnsentScriptNote(const v1::Spec& base);
// Returns whether a file of `folder` that the command names reads its parameters itself, by
// dtrain.parameters() or DTRAIN_PARAMETERS.
bool ReadsParameters(const std::string& folder, const v1::Spec& base);
// Returns the file of the interpreter that a bare `python` or `python3` at the start of the command
// means here, in the active environment `prefix`. "": none is active, or the file names its own.
std::string ActiveInterpreter(const std::string& prefix, const v1::Spec& base);
// Returns a sentence if the command begins with a bare `python` or `python3`, which workers search
// in their own PATH, while a Python environment is active here, in the folder `prefix`. Returns ""
// if none is active.
std::string InterpreterNote(const std::string& prefix, const v1::Spec& base);

}  // namespace dt::cli
