// call_deadline.h: the deadline that every unary call must have.
#pragma once

#include <chrono>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "grpcpp/server_context.h"

namespace dt {

// Returns InvalidArgument without a deadline of at most limits::kCallDeadlineMax.
inline absl::Status CheckDeadline(const grpc::CallbackServerContext& context) {
  const auto left = context.deadline() - std::chrono::system_clock::now();
  // A second of tolerance: the clocks of two hosts differ.
  if (left <= absl::ToChronoSeconds(limits::kCallDeadlineMax) + std::chrono::seconds(1)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("the call has no deadline, or one over ",
                                                 absl::ToInt64Seconds(limits::kCallDeadlineMax),
                                                 " s; set a shorter one"));
}

}  // namespace dt
