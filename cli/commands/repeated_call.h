// repeated_call.h: repeats a call while the coordinator restarts.
#pragma once

#include <algorithm>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cli/remote/session.h"
#include "common/limits.h"

namespace dt::cli {

// Repeats the call until there is an answer, for limits::kSubmitPatience. REQUIRES: a repeated call
// does no harm. Errors: those of the call; Cancelled after Ctrl-C.
template <typename Call>
auto CallUntilAnswered(Session& session, const Call& call) -> decltype(call()) {
  const absl::Time deadline = absl::Now() + limits::kSubmitPatience;
  absl::Duration pause = session.pace().retry;
  bool told = false;
  while (true) {
    auto response = call();
    if (!absl::IsUnavailable(response.status())) return response;
    if (absl::Now() + pause >= deadline) return response;
    if (!told) {
      session.Note(absl::StrCat(std::string(response.status().message()), ". Trying again for ",
                                absl::FormatDuration(limits::kSubmitPatience), "."));
      told = true;
    }
    if (session.interrupt().Wait(pause) == Interrupt::Woken::kByInterrupt) {
      return absl::CancelledError("interrupted");
    }
    pause = std::min(2 * pause, limits::kReconnectMax);
  }
}

}  // namespace dt::cli
