// await.h: waits, with a deadline, for an event that another thread or process causes.
#pragma once

#include <poll.h>

#include <chrono>
#include <functional>

namespace dt::testing {

// Long on purpose: machines that run tests are slow and shared. A test that passes never waits this
// long.
inline constexpr std::chrono::seconds kPatience{30};

// Returns true as soon as `done` returns true, and false once `limit` has passed.
inline bool Await(const std::function<bool()>& done, std::chrono::milliseconds limit = kPatience) {
  const auto until = std::chrono::steady_clock::now() + limit;
  while (!done()) {
    if (std::chrono::steady_clock::now() >= until) return false;
    poll(nullptr, 0, 5);
  }
  return true;
}

}  // namespace dt::testing
