// seconds_between.h: elapsed seconds on the monotonic clock.
#pragma once

#include <chrono>

namespace dt::trainer {

inline double SecondsBetween(std::chrono::steady_clock::time_point from,
                             std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace dt::trainer
