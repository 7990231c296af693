// sql_store.h: the journal and its side tables in any database.
//
// Role:      implements Store, except how a database is opened, how a transaction begins and ends,
//            and what is promised after one. SqliteStore and PostgresStore add these.
// Threads:   as Store; OfferSnapshot may be called from any thread.
// Errors:    DataLoss for records that do not follow, with the possible ways on.
// Invariant: head_ is the state after the newest commit.
// Tests:     tests/coordinator/store/store_test.cc, on both
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "common/unique_fd.h"
#include "coordinator/store/directory_lock.h"
#include "coordinator/store/head.h"
#include "coordinator/store/log_table.h"
#include "coordinator/store/sql.h"
#include "coordinator/store/store.h"

namespace dt {

class SqlStore : public Store {
 public:
  ~SqlStore() override;

  absl::Status Replay(JournalPlace& place,
                      const std::function<absl::Status(const v1::Record&)>& visit) override;
  absl::StatusOr<StoredSnapshot> ReadSnapshot(int64_t below) override;
  absl::StatusOr<std::vector<AckToStore>> ReadAcks() override;
  absl::StatusOr<uint64_t> ReadNewestStep(const AttemptId& attempt) override;
  ExperimentId NewestExperiment() const override {
    return static_cast<ExperimentId>(head_.mark.experiment);
  }
  absl::Status Commit(const Batch& batch) override;

  // Returns whether no other process can lead now, by the database's last answer. May be called
  // from any thread.
  virtual bool LeadIsCertain() const { return true; }

  // Stops cleanly. No call may follow.
  virtual absl::Status Close() = 0;

  // Makes Commit call `due` once for every `every` records that no snapshot covers.
  void AskForSnapshots(int64_t every, std::function<void()> due);
  // Keeps the snapshot with the next commit and drops the oldest one. If an experiment among the
  // records behind the older of two snapshots was deleted, also drops those records, a few with
  // each commit. May be called from any thread.
  void OfferSnapshot(StoredSnapshot snapshot);

  // Returns the number of records after the newest snapshot, for a progress display.
  int64_t RecordCount() const { return head_.mark.sequence - snapshot_; }
  // Removes side rows of attempts whose records were lost. Durable on return.
  absl::Status DropRowsUnless(const std::function<bool(const AttemptId&)>& known);
  // Returns a description of the database for people.
  const std::string& place() const { return place_; }

 protected:
  // `lock` is the state directory's; it is released after the connection.
  SqlStore(DirectoryLock lock, std::string place, std::unique_ptr<Connection> sql)
      : lock_(std::move(lock)), place_(std::move(place)), sql_(std::move(sql)) {}

  // Reads the state after the newest commit. REQUIRES: the tables exist and have a head.
  absl::Status PrepareTables();
  // Makes the first commit of this process. `version` is this build's.
  absl::Status BeginWriting(const std::string& version);
  // Runs `write` as one commit.
  virtual absl::Status CommitOnce(const std::function<absl::Status()>& write);
  absl::Status Explained(absl::Status read) const;
  const StoreHead& head() const { return head_; }
  Connection& Sql() { return *sql_; }

 private:
  virtual absl::Status BeginTransaction() = 0;
  virtual absl::Status EndTransaction() = 0;
  virtual void RollBack() = 0;
  // Called after a commit, before it is acknowledged.
  virtual absl::Status Promise() = 0;
  // Describes the damage to the journal, and how to mend it.
  virtual std::string Refused(const std::string& damage) const = 0;

  absl::Status PrepareStatements();
  absl::Status ReadDeleting();
  absl::Status KeepSnapshot();
  absl::Status DropOldRecords();
  void AskForSnapshot();
  // Runs a DELETE … RETURNING checksum; returns the number of deleted rows.
  absl::StatusOr<int> Drop(Side side, Statement& statement);
  absl::Status WriteBatch(const Batch& batch);
  absl::Status WriteRecord(const v1::Record& record);
  absl::Status WriteSideRow(const v1::Record& record);
  absl::Status WriteChunk(const ChunkToStore& chunk);
  absl::Status WriteAck(const AckToStore& ack);
  absl::Status ClearDeleted();

  const DirectoryLock lock_;
  const std::string place_;
  const std::unique_ptr<Connection> sql_;  // before the statements that borrow it
  StoreHead head_;
  int64_t snapshot_ = 0;        // the newest snapshot's record
  int64_t snapshot_asked_ = 0;  // the newest record at the last request for a snapshot
  int64_t snapshot_every_ = 0;
  std::function<void()> snapshot_due_;
  int64_t drop_to_ = 0;  // records up to this one are dropped; 0: none
  // Records up to this one contain no deletion of an experiment. Kinds have no index, so this saves
  // searching again.
  int64_t searched_to_ = 0;
  Mutex mutex_;
  std::optional<StoredSnapshot> offered_ ABSL_GUARDED_BY(mutex_);
  std::vector<ExperimentId> deleting_;  // mirrors the table of that name
  std::string buffer_;                  // reused for serialised records
  // Checksums of rows of `acks` that this process wrote; kAcknowledgementsOnDisk at most.
  absl::flat_hash_map<std::pair<std::string, InstanceId>, int64_t> acks_;

  HeadWriter head_writer_;
  Statement insert_record_, insert_chunk_, insert_ack_, insert_run_, insert_evaluation_;
  Statement update_ack_, drop_ack_, drop_run_, insert_deleting_, drop_deleting_, newest_step_;
  std::array<Statement, 4> clear_;  // side tables of a deleted experiment
  std::unique_ptr<LogTable> logs_;
};

}  // namespace dt
