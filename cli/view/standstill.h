// standstill.h: decides when a waiting command prints why nothing runs: soon, then each minute.
//
// Role:  pure: each call brings the time.
// Tests: tests/cli/view/standstill_test.cc
#pragma once

#include <cstdint>
#include <string>

namespace dt::cli {

class Standstill {
 public:
  // Takes the reason that nothing runs, or "" if something does. Returns whether to print it now.
  // The first such call is ignored: a trial that was just submitted may be about to start.
  bool IsDue(const std::string& why, int64_t now_wall_ms) {
    if (why.empty()) {
      looks_ = 0;
      return false;
    }
    if (++looks_ < kLooks) return false;
    if (looks_ > kLooks && now_wall_ms < due_wall_ms_) return false;
    looks_ = kLooks + 1;
    due_wall_ms_ = now_wall_ms + kEveryMs;
    return true;
  }

 private:
  static constexpr int kLooks = 2;
  static constexpr int64_t kEveryMs = 60'000;
  int looks_ = 0;
  int64_t due_wall_ms_ = 0;
};

}  // namespace dt::cli
