// interrupt.h: Ctrl-C as an event that every wait can see.
//
// Threads: Trigger is async-signal-safe and thread-safe; the waits belong to one thread.
#pragma once

#include <atomic>

#include "absl/time/time.h"

namespace dt::cli {

class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  void Trigger();
  bool Triggered() const { return triggered_.load(); }

  // Reason that a wait ended.
  enum class Woken { kByTime, kByDescriptor, kByInterrupt };
  // Waits until `fd` is readable (-1: none), Ctrl-C, or `duration` has passed.
  Woken Wait(absl::Duration duration, int fd = -1) const;

 private:
  int event_fd_ = -1;
  std::atomic<bool> triggered_{false};
};

}  // namespace dt::cli
