// conversation.h: how a running attempt talks with the outside: an agent over descriptor 3, or a
// person's terminal.
//
// Role:    no LibTorch. agent_link.h and standalone.h implement it.
// Threads: Say from the training thread; the rest may be asked from there while another thread
//          receives.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "common/status.h"
#include "worker/frames/frames.h"

namespace dt::trainer {

enum class Wish {
  kGoOn,
  kStop,                // leave now
  kStopAfterCheckpoint  // rank 0 saves first
};

// Whether a rank is to leave at once. `saves_alone`: it is to write the checkpoint, and asks
// nobody; others that are to stop after it go on until it is there.
inline bool LeavesNow(Wish wish, bool saves_alone) {
  return wish == Wish::kStop || (wish == Wish::kStopAfterCheckpoint && saves_alone);
}

class Conversation {
 public:
  virtual ~Conversation() = default;
  virtual void Say(const frames::FromTrainer& frame) = 0;
  virtual Wish CurrentWish() const = 0;
  // Ranks > 0: where rank 0's store is. Errors: CancelledError when a stop comes first,
  // CollectiveError after `limit`.
  virtual absl::StatusOr<std::string> AwaitStoreAddress(std::chrono::milliseconds limit) = 0;
  // Calls `abort` from another thread when kStop arrives and the training thread does not leave
  // soon, so that a collective lets go; at once if kStop is already there. An empty function ends
  // that; after it returns no call is under way.
  virtual void AbortWith(std::function<void()> abort) = 0;
  // The newest step of this attempt whose checkpoint is registered for good: a resume may begin
  // there, so it must stay until a later one is.
  virtual std::optional<uint64_t> RegisteredStep() const = 0;
  // Waits until RegisteredStep() is at least `step`, for `limit` at most; a stop ends it too.
  virtual void AwaitRegistered(uint64_t step, std::chrono::milliseconds limit) = 0;
};

}  // namespace dt::trainer
