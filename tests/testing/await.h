// await.h: waits for what other threads and processes bring about, never longer than a deadline.
#pragma once

#include <poll.h>

#include <chrono>
#include <functional>

namespace dt::testing {

// Generous: machines under test are slow and shared; a test that passes never waits this long.
inline constexpr std::chrono::seconds kPatience{30};

// True as soon as `done` is, false when `limit` has passed.
inline bool Await(const std::function<bool()>& done, std::chrono::milliseconds limit = kPatience) {
  const auto until = std::chrono::steady_clock::now() + limit;
  while (!done()) {
    if (std::chrono::steady_clock::now() >= until) return false;
    poll(nullptr, 0, 5);
  }
  return true;
}

}  // namespace dt::testing
