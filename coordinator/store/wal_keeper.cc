// wal_keeper.cc: runs passive checkpoints on a thread of their own.
#include "coordinator/store/wal_keeper.h"

#include <sqlite3.h>

#include "absl/time/time.h"
#include "common/limits.h"
#include "common/status.h"

namespace dt {
namespace {

// Copies the pages that no reader needs any more. If SQLite is busy, another connection is doing
// the same, which is fine.
int Fold(Database& database) {
  const int code = sqlite3_wal_checkpoint_v2(database.handle(), nullptr, SQLITE_CHECKPOINT_PASSIVE,
                                             nullptr, nullptr);
  return code == SQLITE_BUSY || code == SQLITE_LOCKED ? SQLITE_OK : code;
}

}  // namespace

absl::StatusOr<std::unique_ptr<WalKeeper>> WalKeeper::Start(const std::string& path) {
  DT_ASSIGN_OR_RETURN(Database database, Database::Open(path, Access::kReadWrite));
  DT_RETURN_IF_ERROR(database.Execute("PRAGMA synchronous = FULL; PRAGMA cache_size = -256;"));
  auto keeper = std::unique_ptr<WalKeeper>(new WalKeeper(std::move(database)));
  keeper->thread_ = std::thread([keeper = keeper.get()] { keeper->Run(); });
  return keeper;
}

WalKeeper::~WalKeeper() {
  {
    MutexLock lock(&mutex_);
    stopped_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

absl::Status WalKeeper::NoteCommit(Database& writer, int pages) {
  if (pages >= limits::kFoldInPlacePages) {
    return Fold(writer) == SQLITE_OK ? absl::OkStatus() : writer.LastError("folding the log");
  }
  if (pages >= limits::kFoldBesidePages) {
    MutexLock lock(&mutex_);
    due_ = true;
    changed_.NotifyAll();
  }
  return absl::OkStatus();
}

void WalKeeper::Run() {
  while (true) {
    {
      MutexLock lock(&mutex_);
      // Commits and the end wake it; the minute only bounds the wait.
      while (!due_ && !stopped_) changed_.WaitFor(&mutex_, absl::Minutes(1));
      if (stopped_) return;
      due_ = false;
    }
    // Ignores a failure: the writer's own checkpoint meets and reports it.
    Fold(database_);
  }
}

}  // namespace dt
