// replay_progress.h: shows a counter on a terminal while a long journal is read.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdio>

#include "common/service_manager.h"

namespace dt {

class ReplayProgress {
 public:
  explicit ReplayProgress(int64_t total) : total_(isatty(STDERR_FILENO) == 1 ? total : 0) {}
  void Count() {
    if (++done_ % kEvery != 0) return;
    NotifyServiceManager("WATCHDOG=1");  // enabled when a standby takes over
    if (total_ < kWorthShowing) return;
    std::fprintf(stderr, "\rreading the journal: %lld of %lld records",
                 static_cast<long long>(done_), static_cast<long long>(total_));
    shown_ = true;
  }
  ~ReplayProgress() {
    if (shown_) std::fprintf(stderr, "\r\033[K");
  }

 private:
  static constexpr int64_t kWorthShowing = 50000;
  static constexpr int64_t kEvery = 10000;
  int64_t total_;
  int64_t done_ = 0;
  bool shown_ = false;
};

}  // namespace dt
