// exit_code.h: dtctl's exit codes, for scripts. Stable.
//
// Role:  pure. docs/reference/command-line.md documents it.
// Tests: tests/cli/remote/exit_code_test.cc
#pragma once

#include "absl/status/status.h"
#include "dtrain/v1/model.pb.h"

namespace dt::cli {

enum class ExitCode {
  kOk = 0,
  kUnexpected = 1,
  kUsage = 2,        // wrong command line or experiment file; nothing was done
  kUnreachable = 3,  // no coordinator, no answer in time, or it is too busy: try again
  kNotFound = 4,
  kDenied = 5,
  kConflict = 6,        // not possible in this state
  kCannotBePlaced = 7,  // valid, but no connected worker could run it
  kTimedOut = 8,        // by --timeout
  kExperimentFailed = 10,
  kExperimentCancelled = 11,
  kInterrupted = 130,  // Ctrl-C; a submitted experiment continues
};

ExitCode ExitCodeOf(const absl::Status& status);
// Return the exit code of 'wait' once the experiment or trial has ended; kOk before.
ExitCode ExitCodeOf(dtrain::v1::ExperimentState state);
ExitCode ExitCodeOf(dtrain::v1::TrialState state);

}  // namespace dt::cli
