// snapshotter.h: makes snapshots beside the core: from the newest one and the records behind it,
// over a connection of its own, so that the core thread neither stands still nor copies its state.
//
// Threads: Wake from any; the work is done on the thread this owns.
// Errors:  are logged; without a snapshot the next start replays more.
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
  // Ends after the snapshot under way.
  ~Snapshotter();
  Snapshotter(const Snapshotter&) = delete;
  Snapshotter& operator=(const Snapshotter&) = delete;

  // A snapshot is due.
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
