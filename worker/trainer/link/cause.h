// cause.h: maps an attempt's status to frames::End::cause, the word that the agent gets.
//
// Tests: tests/worker/trainer/link/cause_test.cc
#pragma once

#include "common/status.h"

namespace dt::trainer {

// Returns the cause. A damaged file and a failing disk count as a crash, which is retried: the next
// attempt may use an older checkpoint or another host.
inline const char* CauseWord(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return "finished";
    case kConfigError:
      return "config";
    case kDataError:
      return "data";
    case kOutOfMemoryError:
      return "oom";
    case kNonFiniteError:
      return "nonfinite";
    case kCollectiveError:
      return "collective";
    case kCancelledError:
      return "cancelled";
    default:  // kDamagedError, kIoError, and codes that nothing here uses
      return "trainer_crash";
  }
}

}  // namespace dt::trainer
