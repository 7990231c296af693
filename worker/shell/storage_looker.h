// storage_looker.h: looks for checkpoints in the storage, on a thread of its own: a network file
// system that hangs lets a call stand for ever, and the main thread renews the lease.
//
// Threads:   the main thread calls; the thread that Start made looks.
// Ownership: never destroyed, since nothing ends a thread that stands in such a call before its
//            process ends.
// Bounds:    limits::kLooksWaiting beside the one under way; Look says when there is no place.
// Tests:     tests/worker/dtworker_test.cc
#pragma once

#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "common/mailbox.h"
#include "common/unique_fd.h"
#include "worker/agent/agent.h"

namespace dt {

class StorageLooker {
 public:
  // For the storage `id` at `folder`.
  static StorageLooker& Start(std::string folder, std::string id);
  StorageLooker(const StorageLooker&) = delete;
  StorageLooker& operator=(const StorageLooker&) = delete;

  // Returns false, and does nothing, when too many wait.
  [[nodiscard]] bool Look(LookForCheckpoints look);
  // Readable when Take has something.
  int wake_fd() const { return wake_.get(); }
  // What was found to be gone since.
  std::vector<CheckpointsGone> Take();
  // Waits for the look under way, for `patience` at most, and ends the thread. One that still looks
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
  UniqueFd wake_;
  Mailbox<LookForCheckpoints> looks_;
  Mailbox<Found> found_;
  bool ended_ = false;  // the main thread's: Ended was taken
  std::thread thread_;
};

}  // namespace dt
