// pause.h: how tests of background processes wait between two looks.
#pragma once

#include "absl/time/time.h"
#include "tests/testing/await.h"

namespace dt::cli {

inline bool Pause(absl::Duration duration) {
  testing::Await([] { return false; }, absl::ToChronoMilliseconds(duration));
  return true;
}

}  // namespace dt::cli
