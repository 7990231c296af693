// sql_store.h: the journal and its side tables in a database, whichever one it is.
//
// Role:      all of a Store but how its database is opened, begins and ends a transaction, and what
//            it promises after one: SqliteStore and PostgresStore add that.
// Threads:   as Store; OfferSnapshot from any.
// Errors:    DataLoss for records that do not follow, naming the ways on.
// Invariant: head_ is what the newest commit left.
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

  // Whether nobody else can lead now, by what the database answered last. From any thread.
  virtual bool LeadIsCertain() const { return true; }

  // A clean stop. Nothing may follow.
  virtual absl::Status Close() = 0;

  // Calls `due` from Commit, once for every so many records that no snapshot covers.
  void AskForSnapshots(int64_t every, std::function<void()> due);
  // Kept with the next commit. The oldest goes; so do records that the older of two stands for, a
  // few with each commit, where an experiment among them was deleted. From any thread.
  void OfferSnapshot(StoredSnapshot snapshot);

  // Records behind the newest snapshot, for a progress display.
  int64_t RecordCount() const { return head_.mark.sequence - snapshot_; }
  // Removes side rows of attempts that are not: whose records were lost. Durable on return.
  absl::Status DropRowsUnless(const std::function<bool(const AttemptId&)>& known);
  // Where it is, for a person.
  const std::string& place() const { return place_; }

 protected:
  // `lock` is the state directory's: given up after the connection.
  SqlStore(DirectoryLock lock, std::string place, std::unique_ptr<Connection> sql)
      : lock_(std::move(lock)), place_(std::move(place)), sql_(std::move(sql)) {}

  // Reads what the newest commit left. REQUIRES: the tables are there, with a head.
  absl::Status PrepareTables();
  // The first commit of this process. `version` is this build's.
  absl::Status BeginWriting(const std::string& version);
  // Runs `write` as one commit.
  virtual absl::Status CommitOnce(const std::function<absl::Status()>& write);
  absl::Status Explained(absl::Status read) const;
  const Head& head() const { return head_; }
  Connection& Sql() { return *sql_; }

 private:
  virtual absl::Status BeginTransaction() = 0;
  virtual absl::Status EndTransaction() = 0;
  virtual void RollBack() = 0;
  // After a commit, before anybody is told of it.
  virtual absl::Status Promise() = 0;
  // Says that the journal is damaged, and what to do about it.
  virtual std::string Refused(const std::string& damage) const = 0;

  absl::Status PrepareStatements();
  absl::Status ReadDeleting();
  absl::Status KeepSnapshot();
  absl::Status DropOldRecords();
  void AskForSnapshot();
  // Runs a DELETE … RETURNING checksum; how many rows went.
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
  Head head_;
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

  HeadWriter head_writer_;
  Statement insert_record_, insert_chunk_, insert_ack_, insert_run_, insert_evaluation_;
  Statement drop_ack_, drop_run_, insert_deleting_, drop_deleting_, newest_step_;
  std::array<Statement, 4> clear_;  // side tables of a deleted experiment
  std::unique_ptr<LogTable> logs_;
};

}  // namespace dt
