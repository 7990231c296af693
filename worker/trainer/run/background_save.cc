// background_save.cc: see background_save.h.
#include "worker/trainer/run/background_save.h"

#include <utility>

#include "common/check.h"
#include "worker/trainer/device/failure.h"

namespace dt::trainer {

BackgroundSave::~BackgroundSave() {
  leave_ = true;
  if (thread_.joinable()) thread_.join();
}

void BackgroundSave::Begin(Write write) {
  DT_CHECK(!busy());
  outcome_.reset();
  thread_ = std::thread([this, write = std::move(write)]() mutable {
    absl::StatusOr<checkpoint::SavedCheckpoint> outcome = Guarded([&] { return write(leave_); });
    write = nullptr;  // free the copy before another save begins
    std::lock_guard lock(mutex_);
    outcome_ = std::move(outcome);
    changed_.notify_all();
  });
}

bool BackgroundSave::Await(std::chrono::milliseconds limit) {
  if (!busy()) return true;
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, limit, [this] { return outcome_.has_value(); });
}

absl::StatusOr<checkpoint::SavedCheckpoint> BackgroundSave::Take() {
  DT_CHECK(busy());
  thread_.join();
  return *std::exchange(outcome_, std::nullopt);
}

}  // namespace dt::trainer
