// wal_keeper.h: folds the write-ahead log back into the database beside the writer.
//
// Role:      copying pages back and syncing the file takes up to hundreds of milliseconds on a busy
//            disk; the core thread must not wait for it. Under constant writes the copying never
//            quite catches up, so the writer copies the small rest itself now and then; only then
//            does the log start again from its beginning.
// Ownership: owns a connection and a thread.
// Threads:   NoteCommit is called by the writer's thread.
// Tests:     tests/coordinator/store/sqlite_store_test.cc
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "coordinator/store/sqlite.h"

namespace dt {

class WalKeeper {
 public:
  static absl::StatusOr<std::unique_ptr<WalKeeper>> Start(const std::string& path);
  ~WalKeeper();
  WalKeeper(const WalKeeper&) = delete;
  WalKeeper& operator=(const WalKeeper&) = delete;

  // Called after each commit of `writer`, with the number of pages in its log. Errors: those of
  // SQLite's checkpoint on the writer's side; the commit itself stands.
  absl::Status NoteCommit(Database& writer, int pages);

 private:
  explicit WalKeeper(Database database) : database_(std::move(database)) {}
  void Run();

  Database database_;
  Mutex mutex_;
  CondVar changed_;
  bool due_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace dt
