// background_save.h: hashes and writes one checkpoint at a time while training continues.
//
// Role:      one thread per checkpoint. The destructor asks it to leave and joins it. It writes a
//            copy of its own, so it shares only the outcome with the training thread.
// Threads:   the training thread; only the writing runs on the other thread.
// Errors:    those of the writing, as its outcome; exceptions become errors.
// Invariant: at most one checkpoint is being written, so there is at most one copy of the state.
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
  // Writes the checkpoint. Ends early, with an error, once `leave` is true.
  using Write =
      std::function<absl::StatusOr<checkpoint::SavedCheckpoint>(const std::atomic<bool>& leave)>;

  BackgroundSave() = default;
  ~BackgroundSave();
  BackgroundSave(const BackgroundSave&) = delete;
  BackgroundSave& operator=(const BackgroundSave&) = delete;

  // Starts writing. REQUIRES: !busy(). Throws if no thread can be made; nothing was started then.
  void Begin(Write write);
  // Returns whether a write was started and its outcome not yet taken.
  bool busy() const { return thread_.joinable(); }
  // Blocks until nothing is being written, for at most `limit`. Returns false if it still is.
  bool Await(std::chrono::milliseconds limit);
  // Blocks until the write ends and returns its outcome. REQUIRES: busy().
  absl::StatusOr<checkpoint::SavedCheckpoint> Take();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<absl::StatusOr<checkpoint::SavedCheckpoint>> outcome_;
  std::atomic<bool> leave_{false};
  std::thread thread_;
};

}  // namespace dt::trainer
