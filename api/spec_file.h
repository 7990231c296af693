// spec_file.h: prints an experiment or a trial as a file that can be submitted again.
//
// Role:  pure.
// Tests: tests/cli/commands/describe_command_test.cc
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "dtrain/v1/control.pb.h"

namespace dt::api {

namespace v1 = ::dtrain::v1;

// Returns the file as it was written and as it was understood: two documents, each of which can be
// submitted again.
std::string ExperimentFiles(const v1::GetExperimentResponse& found);
// Returns a file that would run only this trial.
absl::StatusOr<std::string> TrialFile(const v1::GetExperimentResponse& found,
                                      const v1::TrialSummary& trial);

}  // namespace dt::api
