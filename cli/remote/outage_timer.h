// outage_timer.h: the time that a watching command waits for a coordinator that does not answer.
#pragma once

#include <cmath>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "cli/view/words.h"
#include "common/limits.h"

namespace dt::cli {

// Measures how long the coordinator has been away, and decides when to give up.
class OutageTimer {
 public:
  void Answered() { since_ = absl::Now(); }
  // Returns a note for the user. Errors: `status` if it is permanent or has lasted too long.
  absl::StatusOr<std::string> Notice(const absl::Status& status) const {
    const absl::Duration away = absl::Now() - since_;
    if (!MayPass(status) || away > limits::kFollowPatience) return status;
    return absl::StrCat("No answer from the coordinator for ",
                        FormatElapsed(std::floor(absl::ToDoubleSeconds(away))), ", since ",
                        absl::FormatTime("%H:%M:%S UTC", since_, absl::UTCTimeZone()),
                        "; trying again. The trials go on.");
  }

 private:
  static bool MayPass(const absl::Status& status) {
    return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
           absl::IsResourceExhausted(status);
  }

  absl::Time since_ = absl::Now();
};

}  // namespace dt::cli
