// exit_code.h: what dtctl's exit status means, for scripts. Stable.
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
  kUsage = 2,        // the command line or the experiment file is wrong; nothing was done
  kUnreachable = 3,  // no coordinator, no answer in time, or it is too busy: try again
  kNotFound = 4,
  kDenied = 5,
  kConflict = 6,        // not possible in this state
  kCannotBePlaced = 7,  // valid, but nothing that is connected could run it
  kTimedOut = 8,        // of --timeout
  kExperimentFailed = 10,
  kExperimentCancelled = 11,
  kInterrupted = 130,  // Ctrl-C; what was submitted goes on
};

ExitCode ExitCodeOf(const absl::Status& status);
// What 'wait' exits with once the experiment or trial has ended; kOk while it has not.
ExitCode ExitCodeOf(dtrain::v1::ExperimentState state);
ExitCode ExitCodeOf(dtrain::v1::TrialState state);

}  // namespace dt::cli
