// conversation.h: how a running attempt communicates: with an agent over descriptor 3, or with a
// person's terminal.
//
// Role:    no LibTorch. agent_link.h and standalone.h implement it.
// Threads: Say is called by the training thread. The other methods may be called by it while
//          another thread receives.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "worker/frames/frames.h"

namespace dt::trainer {

enum class StopRequest {
  kNone,
  kStop,                // leave at once
  kStopAfterCheckpoint  // leave after rank 0 has saved a checkpoint
};

// Returns whether a rank leaves at once. `saves_alone`: this rank's checkpoint needs no other rank,
// so it saves without asking the others. The others, asked to stop after a checkpoint, continue
// until it is complete.
inline bool LeavesNow(StopRequest stop_request, bool saves_alone) {
  return stop_request == StopRequest::kStop ||
         (stop_request == StopRequest::kStopAfterCheckpoint && saves_alone);
}

class Conversation {
 public:
  virtual ~Conversation() = default;
  virtual void Say(const frames::FromTrainer& frame) = 0;
  virtual StopRequest CurrentStopRequest() const = 0;
  // Blocks ranks > 0 until the address of rank 0's store is known, and returns it. Errors:
  // CancelledError if a stop comes first, CollectiveError after `limit`.
  virtual absl::StatusOr<std::string> AwaitStoreAddress(std::chrono::milliseconds limit) = 0;
  // Makes a stop interrupt a collective: calls `abort` from another thread when kStop arrives and
  // the training thread does not leave soon, or at once if kStop has arrived already, or a peer is
  // lost. An empty function turns this off; after that call returns, no call of `abort` is in
  // progress.
  virtual void AbortWith(std::function<void()> abort) = 0;
  // Returns the newest step of this attempt with a registered checkpoint. A resume may start there,
  // so the checkpoint must be kept until a later one is registered.
  virtual std::optional<uint64_t> RegisteredStep() const = 0;
  // Blocks until RegisteredStep() is at least `step`, a stop arrives, or `limit` has passed.
  virtual void AwaitRegistered(uint64_t step, std::chrono::milliseconds limit) = 0;
  // Returns whether the coordinator reported that a peer is gone. Collectives fail since then.
  virtual bool PeerIsLost() const { return false; }
  // After frames::Holds: blocks until this rank is ordered to save its state, and returns the
  // order. Collectives may begin again. Returns nothing after a stop, after `limit`, or if nobody
  // gives orders: then the rank leaves.
  virtual std::optional<frames::Rescue> AwaitRescue(std::chrono::milliseconds /*limit*/) {
    return std::nullopt;
  }
  // Reports the rows of a rank that saves for its gang: those after step `after`. `rows`: the
  // newest ones, in ascending order.
  virtual void SayMissing(const std::vector<frames::StepDone>& rows, uint64_t after) {
    for (const frames::StepDone& row : rows) {
      if (row.row.value("step", uint64_t{0}) > after) Say(row);
    }
  }
};

}  // namespace dt::trainer
