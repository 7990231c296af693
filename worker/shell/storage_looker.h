// storage_looker.h: looks for checkpoints in the storage, on a thread of its own: a call to a hung
// network file system never returns, and the main thread must renew the lease.
//
// Threads:   the main thread calls; the thread that Start made looks.
// Ownership: never destroyed, since a thread that hangs in such a call ends only with its process.
// Bounds:    limits::kLooksWaiting besides the current one; Look reports when there is no place.
// Tests:     tests/worker/dtworker_test.cc
#pragma once

#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "common/mailbox.h"
#include "common/wake.h"
#include "worker/agent/agent.h"

namespace dt {

class StorageLooker {
 public:
  // Starts a looker for the storage `id` at `folder`.
  static StorageLooker& Start(std::string folder, std::string id);
  StorageLooker(const StorageLooker&) = delete;
  StorageLooker& operator=(const StorageLooker&) = delete;

  // Returns false, and does nothing, when too many wait.
  [[nodiscard]] bool Look(LookForCheckpoints look);
  // Readable when Take has something.
  int wake_fd() const { return wake_.fd(); }
  // Returns the checkpoints found to be gone since the last call.
  std::vector<CheckpointsGone> Take();
  // Waits at most `patience` for the current look, then ends the thread. A thread that still looks
  // then ends with the process.
  void Stop(absl::Duration patience);

 private:
  // The thread has taken its last look.
  struct Ended {};
  using Found = std::variant<CheckpointsGone, Ended>;

  StorageLooker(std::string folder, std::string id);
  void Run();
  void Tell(Found found, PostClass post_class);

  const std::string folder_;
  const std::string id_;
  Wake wake_;
  Mailbox<LookForCheckpoints> looks_;
  Mailbox<Found> found_;
  bool ended_ = false;  // used by the main thread: Ended was taken
  std::thread thread_;
};

}  // namespace dt
