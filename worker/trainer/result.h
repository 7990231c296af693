// result.h: how the trainer's rooms fail: common/result.h, and what each kind of error means as the
// cause of an attempt's end (frames.h, End::cause).
#pragma once

#include "common/result.h"

namespace dt {

// The word of frames::End::cause. A damaged artefact and a failing disk end as a crash, which is
// retried: the next attempt may use an older checkpoint or another host.
inline const char* CauseWord(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kConfig:
      return "config";
    case ErrorKind::kData:
      return "data";
    case ErrorKind::kDamaged:
    case ErrorKind::kIo:
      return "trainer_crash";
    case ErrorKind::kOutOfMemory:
      return "oom";
    case ErrorKind::kNonFinite:
      return "nonfinite";
    case ErrorKind::kCollective:
      return "collective";
    case ErrorKind::kCancelled:
      return "cancelled";
  }
  return "trainer_crash";
}

}  // namespace dt
