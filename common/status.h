// status.h: names the absl::Status codes that files, data, checkpoints and the trainer use, and
// adds the macros that Debian's Abseil lacks.
//
// Errors: the code tells the caller what to do next; the message names the thing, the value, the
//         limit and the fix. A bug is a DT_CHECK, never a Status.
// Tests:  tests/common/status_test.cc
#pragma once

#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace dt {

// The specification or the command line is wrong; another try changes nothing.
inline constexpr absl::StatusCode kConfigError = absl::StatusCode::kInvalidArgument;
// An input file is absent, malformed or not of the promised content.
inline constexpr absl::StatusCode kDataError = absl::StatusCode::kFailedPrecondition;
// A file that dtrain wrote failed its verification; an older one may be good.
inline constexpr absl::StatusCode kDamagedError = absl::StatusCode::kDataLoss;
// The system failed (disk full, I/O error); another try may help.
inline constexpr absl::StatusCode kIoError = absl::StatusCode::kUnavailable;
// The device or the limit is too small for this configuration.
inline constexpr absl::StatusCode kOutOfMemoryError = absl::StatusCode::kResourceExhausted;
// NaN or infinity in loss or gradients.
inline constexpr absl::StatusCode kNonFiniteError = absl::StatusCode::kOutOfRange;
// A peer died or a collective timed out: a symptom.
inline constexpr absl::StatusCode kCollectiveError = absl::StatusCode::kAborted;
// Someone asked to stop.
inline constexpr absl::StatusCode kCancelledError = absl::StatusCode::kCancelled;

// Converts the text: Debian 12's absl::string_view is not std::string_view.
inline absl::Status StatusOf(absl::StatusCode code, std::string_view message) {
  return absl::Status(code, {message.data(), message.size()});
}
inline absl::Status ConfigError(std::string_view text) { return StatusOf(kConfigError, text); }
inline absl::Status DataError(std::string_view text) { return StatusOf(kDataError, text); }
inline absl::Status DamagedError(std::string_view text) { return StatusOf(kDamagedError, text); }
inline absl::Status IoError(std::string_view text) { return StatusOf(kIoError, text); }
inline absl::Status OutOfMemoryError(std::string_view text) {
  return StatusOf(kOutOfMemoryError, text);
}
inline absl::Status NonFiniteError(std::string_view text) {
  return StatusOf(kNonFiniteError, text);
}
inline absl::Status CollectiveError(std::string_view text) {
  return StatusOf(kCollectiveError, text);
}
inline absl::Status CancelledError(std::string_view text) {
  return StatusOf(kCancelledError, text);
}

// Returns the same error with its context in front: "reading a.bin: …". REQUIRES: not OK.
inline absl::Status Annotate(const absl::Status& status, std::string_view context) {
  return absl::Status(status.code(), absl::StrCat(absl::string_view(context.data(), context.size()),
                                                  ": ", status.message()));
}

}  // namespace dt

#define DT_STATUS_CONCAT_INNER(a, b) a##b
#define DT_STATUS_CONCAT(a, b) DT_STATUS_CONCAT_INNER(a, b)

// Returns from the enclosing function when `expression` is not OK.
#define DT_RETURN_IF_ERROR(expression)                            \
  do {                                                            \
    if (absl::Status dt_status = (expression); !dt_status.ok()) { \
      return dt_status;                                           \
    }                                                             \
  } while (false)

// Declares or assigns `target` from a StatusOr, or returns its error.
#define DT_ASSIGN_OR_RETURN(target, expression) \
  DT_ASSIGN_OR_RETURN_IMPL(DT_STATUS_CONCAT(dt_status_or_, __LINE__), target, expression)
#define DT_ASSIGN_OR_RETURN_IMPL(holder, target, expression) \
  auto holder = (expression);                                \
  if (!holder.ok()) return holder.status();                  \
  target = *std::move(holder)
