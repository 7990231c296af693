// sqlite_store.h: the journal and its side tables in one SQLite file.
//
// Role:      Store over SQLite: WAL, synchronous=FULL, one transaction a batch.
// Ownership: holds the state directory's lock from Open to destruction.
// Threads:   the core thread alone.
// Errors:    Open: FailedPrecondition when another coordinator holds the directory, or the file is
//            of a newer version, naming it; DataLoss when the file is damaged.
// Tests:     tests/coordinator/store/sqlite_store_test.cc
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/store/log_table.h"
#include "coordinator/store/sqlite.h"
#include "coordinator/store/store.h"
#include "coordinator/store/wal_keeper.h"

namespace dt {

// The lock file of a state directory, held while this lives.
class DirectoryLock {
 public:
  static absl::StatusOr<DirectoryLock> Take(const std::string& directory);
  DirectoryLock(DirectoryLock&& other) noexcept;
  DirectoryLock& operator=(DirectoryLock&&) = delete;
  ~DirectoryLock();

 private:
  explicit DirectoryLock(int fd) : fd_(fd) {}
  int fd_;
};

class SqliteStore final : public Store {
 public:
  // Creates `directory` (mode 0700) and the journal in it where they do not exist. `version` is
  // this build's, recorded as the writer of what follows.
  static absl::StatusOr<std::unique_ptr<SqliteStore>> Open(const std::string& directory,
                                                           const std::string& version);
  ~SqliteStore() override;

  absl::Status Replay(const std::function<absl::Status(const v1::Record&)>& visit) override;
  absl::StatusOr<std::vector<AckToStore>> ReadAcks() override;
  absl::Status Commit(const Batch& batch) override;

  // Folds the write-ahead log into the file and marks a clean stop. Nothing may follow.
  absl::Status Close();

  // Records in the journal, for a progress display.
  int64_t RecordCount() const { return next_sequence_ - 1; }
  // True when the last coordinator did not Close; Open then checked the file.
  bool stopped_uncleanly() const { return stopped_uncleanly_; }
  const std::string& path() const { return path_; }

 private:
  SqliteStore(DirectoryLock lock, std::string path, Database database)
      : lock_(std::move(lock)), path_(std::move(path)), database_(std::move(database)) {}

  absl::Status Prepare(const std::string& version);
  absl::Status PrepareStatements();
  absl::Status WriteBatch(const Batch& batch);
  absl::Status WriteRecord(const v1::Record& record);
  absl::Status WriteSideRow(const v1::Record& record);
  absl::Status WriteChunk(const ChunkToStore& chunk);
  absl::Status WriteAck(const AckToStore& ack);
  absl::Status ClearDeleted();
  std::string WriterOf(int64_t sequence);

  DirectoryLock lock_;
  std::string path_;
  Database database_;
  int64_t next_sequence_ = 1;
  bool stopped_uncleanly_ = false;
  bool closed_ = false;
  std::vector<ExperimentId> deleting_;  // mirrors the table of that name
  std::string buffer_;                  // reused for serialised records

  Statement begin_, commit_, rollback_;
  Statement insert_record_, insert_chunk_, insert_ack_, insert_run_, insert_evaluation_;
  Statement insert_deleting_, delete_deleting_;
  std::array<Statement, 4> clear_;  // side tables of a deleted experiment
  std::unique_ptr<LogTable> logs_;
  int wal_pages_ = 0;  // after the newest commit
  std::unique_ptr<WalKeeper> keeper_;
};

}  // namespace dt
