// sqlite_store.h: the journal and its side tables in one SQLite file.
//
// Role:      Store over SQLite: WAL, synchronous=FULL, one transaction a batch; then the mark
//            beside it.
// Ownership: holds the state directory's lock from Open to destruction.
// Threads:   one at a time.
// Errors:    Open: FailedPrecondition when another coordinator holds the directory, or the file is
//            of a newer version, naming it; DataLoss when the file is damaged or lacks what was
//            acknowledged, naming what and the ways on.
// Invariant: what Commit returned for is found by the next Open, or missed by it.
// Tests:     tests/coordinator/store/sqlite_store_test.cc, damage_test.cc
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "coordinator/store/directory_lock.h"
#include "coordinator/store/head.h"
#include "coordinator/store/log_table.h"
#include "coordinator/store/mark.h"
#include "coordinator/store/sqlite.h"
#include "coordinator/store/store.h"
#include "coordinator/store/wal_keeper.h"

namespace dt {

// What a start does when the journal is damaged, or lacks what was acknowledged.
enum class OnLoss {
  kRefuse,
  kGoOn,  // with what is whole; the damaged files are kept aside
};

class SqliteStore final : public Store {
 public:
  // Creates `directory` (mode 0700) and the journal in it where they do not exist. `version` is
  // this build's, recorded as the writer of what follows.
  static absl::StatusOr<std::unique_ptr<SqliteStore>> Open(const std::string& directory,
                                                           const std::string& version,
                                                           OnLoss on_loss = OnLoss::kRefuse);
  ~SqliteStore() override;

  absl::Status Replay(JournalPlace& place,
                      const std::function<absl::Status(const v1::Record&)>& visit) override;
  absl::StatusOr<StoredSnapshot> ReadSnapshot(int64_t below) override;
  absl::StatusOr<std::vector<AckToStore>> ReadAcks() override;
  absl::StatusOr<uint64_t> ReadNewestStep(const AttemptId& attempt) override;
  ExperimentId NewestExperiment() const override {
    return static_cast<ExperimentId>(head_.mark.experiment);
  }
  absl::Status Commit(const Batch& batch) override;

  // Folds the write-ahead log into the file and marks a clean stop. Nothing may follow.
  absl::Status Close();

  // Calls `due` from Commit, once for every so many records that no snapshot covers.
  void AskForSnapshots(int64_t every, std::function<void()> due);
  // Kept with the next commit. The oldest goes; so do records that the older of two stands for, a
  // few with each commit, where an experiment among them was deleted. From any thread.
  void OfferSnapshot(StoredSnapshot snapshot);

  // Records behind the newest snapshot, for a progress display.
  int64_t RecordCount() const { return head_.mark.sequence - snapshot_; }
  // True when the last coordinator did not Close; Open then checked the whole file.
  bool stopped_uncleanly() const { return stopped_uncleanly_; }
  // With OnLoss::kGoOn: what Open dropped, a line each.
  const std::vector<std::string>& losses() const { return losses_; }
  // Removes side rows of attempts that are not: whose records were lost. Durable on return.
  absl::Status DropRowsUnless(const std::function<bool(const AttemptId&)>& known);
  const std::string& path() const { return path_; }

 private:
  SqliteStore(UniqueFd lock, std::string path, Database database)
      : lock_(std::move(lock)), path_(std::move(path)), database_(std::move(database)) {}

  absl::Status Prepare();
  absl::Status PrepareStatements();
  absl::Status Begin(const std::string& version);
  absl::Status ReadDeleting();
  absl::Status KeepSnapshot();
  absl::Status DropOldRecords();
  void AskForSnapshot();
  // Runs `write` as one commit, which the mark then promises.
  absl::Status CommitOnce(const std::function<absl::Status()>& write);
  // Runs a DELETE … RETURNING checksum; how many rows went.
  absl::StatusOr<int> Drop(Side side, Statement& statement);
  absl::Status WriteBatch(const Batch& batch);
  absl::Status WriteRecord(const v1::Record& record);
  absl::Status WriteSideRow(const v1::Record& record);
  absl::Status WriteChunk(const ChunkToStore& chunk);
  absl::Status WriteAck(const AckToStore& ack);
  absl::Status ClearDeleted();

  UniqueFd lock_;  // of the state directory
  std::string path_;
  Database database_;
  Head head_;
  std::optional<MarkFile> mark_;
  std::vector<std::string> losses_;
  bool stopped_uncleanly_ = false;
  bool closed_ = false;
  int64_t snapshot_ = 0;        // the record of the newest
  int64_t snapshot_asked_ = 0;  // the newest record when one was last asked for
  int64_t snapshot_every_ = 0;
  std::function<void()> snapshot_due_;
  int64_t drop_to_ = 0;  // records up to this one go; 0: none
  // No record up to this one deletes an experiment: kinds have no index.
  int64_t searched_to_ = 0;
  Mutex mutex_;
  std::optional<StoredSnapshot> offered_ ABSL_GUARDED_BY(mutex_);
  std::vector<ExperimentId> deleting_;  // mirrors the table of that name
  std::string buffer_;                  // reused for serialised records

  Statement begin_, commit_, rollback_;
  HeadWriter head_writer_;
  Statement insert_record_, insert_chunk_, insert_ack_, insert_run_, insert_evaluation_;
  Statement drop_ack_, drop_run_, insert_deleting_, drop_deleting_, newest_step_;
  std::array<Statement, 4> clear_;  // side tables of a deleted experiment
  std::unique_ptr<LogTable> logs_;
  int wal_pages_ = 0;  // after the newest commit
  std::unique_ptr<WalKeeper> keeper_;
};

}  // namespace dt
