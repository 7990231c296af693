// snapshotter.h: makes snapshots from the newest one and the records after it, over a connection of
// its own. So the core thread neither stops nor copies its state.
//
// Threads: Wake may be called from any thread; the work runs on the thread that Snapshotter owns.
// Errors:  are logged; without a snapshot the next start replays more records.
// Tests:   tests/coordinator/loop/restore_test.cc
#pragma once

#include <functional>
#include <memory>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "coordinator/store/store.h"

namespace dt {

class Snapshotter {
 public:
  using Open = std::function<absl::StatusOr<std::unique_ptr<JournalReader>>()>;
  using Offer = std::function<void(StoredSnapshot)>;

  Snapshotter(Open open, Offer offer);
  // Waits for the snapshot in progress.
  ~Snapshotter();
  Snapshotter(const Snapshotter&) = delete;
  Snapshotter& operator=(const Snapshotter&) = delete;

  // Requests a snapshot.
  void Wake();

 private:
  void Run();

  const Open open_;
  const Offer offer_;
  Mutex mutex_;
  CondVar changed_;
  bool due_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace dt
