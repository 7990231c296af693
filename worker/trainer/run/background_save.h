// background_save.h: one checkpoint at a time is hashed and written while training goes on.
//
// Role:      a thread for each, told to leave and joined by the destructor. What it writes is a
//            copy of its own, so it shares nothing with the training thread but the outcome.
// Threads:   the training thread; the writing runs on the other one.
// Errors:    those of the writing, as its outcome; what it throws becomes one.
// Invariant: never more than one is being written, so there is at most one copy of the state.
// Tests:     tests/worker/trainer/run/keeper_test.cc
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "checkpoint/checkpoint.h"

namespace dt::trainer {

class BackgroundSave {
 public:
  // Ends early, with an error, once `leave` is true.
  using Write =
      std::function<absl::StatusOr<checkpoint::SavedCheckpoint>(const std::atomic<bool>& leave)>;

  BackgroundSave() = default;
  ~BackgroundSave();
  BackgroundSave(const BackgroundSave&) = delete;
  BackgroundSave& operator=(const BackgroundSave&) = delete;

  // REQUIRES: !busy(). Throws when there is no room for a thread; nothing has begun then.
  void Begin(Write write);
  // Begun, and its outcome not yet taken.
  bool busy() const { return thread_.joinable(); }
  // Waits until nothing is being written, for `limit` at most. False: it still is.
  bool Await(std::chrono::milliseconds limit);
  // REQUIRES: busy(). Waits until it is written.
  absl::StatusOr<checkpoint::SavedCheckpoint> Take();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<absl::StatusOr<checkpoint::SavedCheckpoint>> outcome_;
  std::atomic<bool> leave_{false};
  std::thread thread_;
};

}  // namespace dt::trainer
