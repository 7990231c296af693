// cause.h: how an attempt's status is told to the agent: the word of frames::End::cause.
//
// Tests: tests/worker/trainer/link/cause_test.cc
#pragma once

#include "common/status.h"

namespace dt::trainer {

// A damaged file and a failing disk end as a crash, which is retried: the next attempt may use an
// older checkpoint or another host.
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
