#include "cli/remote/exit_code.h"

namespace dt::cli {

namespace v1 = ::dtrain::v1;

ExitCode ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return ExitCode::kOk;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return ExitCode::kUsage;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kResourceExhausted:
      return ExitCode::kUnreachable;
    case absl::StatusCode::kNotFound:
      return ExitCode::kNotFound;
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return ExitCode::kDenied;
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAborted:
      return ExitCode::kConflict;
    case absl::StatusCode::kCancelled:
      return ExitCode::kInterrupted;
    default:  // codes that are not used, and those of a later gRPC
      return ExitCode::kUnexpected;
  }
}

ExitCode ExitCodeOf(v1::ExperimentState state) {
  if (state == v1::EXPERIMENT_FAILED) return ExitCode::kExperimentFailed;
  if (state == v1::EXPERIMENT_CANCELLED) return ExitCode::kExperimentCancelled;
  return ExitCode::kOk;
}

ExitCode ExitCodeOf(v1::TrialState state) {
  if (state == v1::TRIAL_FAILED) return ExitCode::kExperimentFailed;
  if (state == v1::TRIAL_CANCELLED) return ExitCode::kExperimentCancelled;
  return ExitCode::kOk;
}

}  // namespace dt::cli
