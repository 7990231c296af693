// sql_store.cc: replays the journal and commits batches, with statements that any database accepts.
#include "coordinator/store/sql_store.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/status.h"
#include "coordinator/store/checksum.h"
#include "coordinator/store/journal.h"
#include "coordinator/store/schema.h"

namespace dt {
namespace {

int64_t ChunkChecksum(const ChunkToStore& chunk) {
  Checksum checksum;
  const TrialId trial = chunk.attempt.trial;
  checksum.Add(static_cast<int64_t>(trial.experiment)).Add(int64_t{trial.trial});
  checksum.Add(int64_t{chunk.attempt.attempt}).Add(static_cast<int64_t>(chunk.first_step));
  return checksum.Add(static_cast<int64_t>(chunk.last_step)).Add(chunk.rows).Sum();
}

}  // namespace

SqlStore::~SqlStore() = default;

absl::Status SqlStore::PrepareTables() {
  DT_ASSIGN_OR_RETURN(head_, ReadHead(Sql()));
  DT_ASSIGN_OR_RETURN(snapshot_,
                      Sql().QueryInteger("SELECT coalesce(max(sequence), 0) FROM snapshots"));
  DT_RETURN_IF_ERROR(PrepareStatements());
  return ReadDeleting();
}

absl::Status SqlStore::PrepareStatements() {
  const std::pair<Statement*, const char*> statements[] = {
      {&insert_record_, "INSERT INTO journal VALUES (?, ?, ?, ?, ?)"},
      {&insert_chunk_,
       "INSERT INTO chunks (experiment, trial, attempt, first_step, last_step, rows, checksum) "
       "VALUES (?, ?, ?, ?, ?, ?, ?)"},
      {&drop_ack_, "DELETE FROM acks WHERE worker = ? AND instance = ? RETURNING checksum"},
      {&insert_ack_, "INSERT INTO acks VALUES (?, ?, ?, ?, ?)"},
      {&update_ack_,
       "UPDATE acks SET sequence = ?, touched = ?, checksum = ? WHERE worker = ? AND instance = ?"},
      {&drop_run_,
       "DELETE FROM runs WHERE experiment = ? AND trial = ? AND attempt = ? RETURNING checksum"},
      {&insert_run_, "INSERT INTO runs VALUES (?, ?, ?, ?, ?)"},
      {&insert_evaluation_,
       "INSERT INTO evaluations (experiment, trial, attempt, evaluation, checksum) "
       "VALUES (?, ?, ?, ?, ?)"},
      {&insert_deleting_, "INSERT INTO deleting VALUES (?, ?)"},
      // Steps never go back, so an attempt's last chunk has the newest step; the index alone
      // answers this.
      {&newest_step_,
       "SELECT last_step FROM chunks WHERE experiment = ? AND trial = ? AND attempt = ? "
       "ORDER BY first_step DESC LIMIT 1"},
      {&drop_deleting_, "DELETE FROM deleting WHERE experiment = ? RETURNING checksum"},
      {&clear_[0],
       "DELETE FROM chunks WHERE id IN (SELECT id FROM chunks WHERE experiment = ? LIMIT ?) "
       "RETURNING checksum"},
      {&clear_[1],
       "DELETE FROM logs WHERE id IN (SELECT id FROM logs WHERE experiment = ? LIMIT ?) "
       "RETURNING checksum"},
      {&clear_[2],
       "DELETE FROM runs WHERE (experiment, trial, attempt) IN "
       "(SELECT experiment, trial, attempt FROM runs WHERE experiment = ? LIMIT ?) "
       "RETURNING checksum"},
      {&clear_[3],
       "DELETE FROM evaluations WHERE id IN "
       "(SELECT id FROM evaluations WHERE experiment = ? LIMIT ?) RETURNING checksum"},
  };
  for (const auto& [statement, sql] : statements) {
    DT_ASSIGN_OR_RETURN(*statement, Statement::Prepare(Sql(), sql));
  }
  DT_ASSIGN_OR_RETURN(head_writer_, HeadWriter::Prepare(Sql()));
  DT_ASSIGN_OR_RETURN(logs_, LogTable::Open(Sql(), head_));
  return absl::OkStatus();
}

absl::Status SqlStore::ReadDeleting() {
  DT_ASSIGN_OR_RETURN(Statement query,
                      Statement::Prepare(Sql(), "SELECT experiment FROM deleting"));
  while (true) {
    DT_ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) return absl::OkStatus();
    deleting_.push_back(static_cast<ExperimentId>(query.Integer(0)));
  }
}

// Records the writer from here on, and drops acknowledgements of workers' lives that no longer
// matter.
absl::Status SqlStore::BeginWriting(const std::string& version) {
  return CommitOnce([&]() -> absl::Status {
    DT_RETURN_IF_ERROR(Sql().Execute("UPDATE in_use SET flag = 1"));
    DT_ASSIGN_OR_RETURN(
        Statement old_lives,
        Statement::Prepare(
            Sql(),
            absl::StrCat("DELETE FROM acks WHERE (worker, instance) IN (SELECT worker, instance "
                         "FROM (SELECT worker, instance, row_number() OVER (PARTITION BY worker "
                         "ORDER BY touched DESC) AS age FROM acks) AS lives WHERE age > ",
                         limits::kInstancesPerWorker + 1, ") RETURNING checksum")));
    DT_RETURN_IF_ERROR(Drop(kAcks, old_lives).status());
    DT_ASSIGN_OR_RETURN(
        Statement beyond,
        Statement::Prepare(Sql(),
                           absl::StrCat("DELETE FROM acks WHERE (worker, instance) NOT IN (SELECT "
                                        "worker, instance FROM acks ORDER BY touched DESC LIMIT ",
                                        limits::kAcknowledgementsOnDisk, ") RETURNING checksum")));
    DT_RETURN_IF_ERROR(Drop(kAcks, beyond).status());
    DT_ASSIGN_OR_RETURN(
        Statement writer,
        Statement::Prepare(Sql(),
                           "INSERT INTO writers VALUES (?, ?) ON CONFLICT (first_sequence) DO "
                           "UPDATE SET version = excluded.version"));
    return writer.Bind(1, head_.mark.sequence + 1).BindText(2, version).Run();
  });
}

absl::Status SqlStore::Replay(JournalPlace& place,
                              const std::function<absl::Status(const v1::Record&)>& visit) {
  return Explained(ReadRecords(Sql(), place, visit));
}

absl::Status SqlStore::Explained(absl::Status read) const {
  if (!absl::IsDataLoss(read)) return read;
  return absl::DataLossError(Refused(std::string(read.message())));
}

absl::StatusOr<StoredSnapshot> SqlStore::ReadSnapshot(int64_t below) {
  return ReadSnapshotBelow(Sql(), below);
}

absl::StatusOr<std::vector<AckToStore>> SqlStore::ReadAcks() {
  DT_ASSIGN_OR_RETURN(
      Statement query,
      Statement::Prepare(
          Sql(), "SELECT worker, instance, sequence FROM acks ORDER BY worker, touched, instance"));
  std::vector<AckToStore> acks;
  while (true) {
    DT_ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) return acks;
    acks.push_back({query.Text(0), static_cast<InstanceId>(query.Integer(1)),
                    static_cast<uint64_t>(query.Integer(2))});
  }
}

absl::StatusOr<uint64_t> SqlStore::ReadNewestStep(const AttemptId& attempt) {
  newest_step_.Bind(1, static_cast<int64_t>(attempt.trial.experiment)).Bind(2, attempt.trial.trial);
  const absl::StatusOr<bool> found = newest_step_.Bind(3, attempt.attempt).Step();
  const uint64_t step =
      found.ok() && *found ? static_cast<uint64_t>(newest_step_.Integer(0)) : uint64_t{0};
  newest_step_.Reset();
  if (!found.ok()) return found.status();
  return step;
}

absl::Status SqlStore::Commit(const Batch& batch) {
  return CommitOnce([&] { return WriteBatch(batch); });
}

absl::Status SqlStore::CommitOnce(const std::function<absl::Status()>& write) {
  const StoreHead before = head_;
  DT_RETURN_IF_ERROR(BeginTransaction());
  absl::Status status = write();
  if (status.ok()) status = KeepSnapshot();
  ++head_.mark.commits;
  if (status.ok()) status = head_writer_.Write(head_);
  if (status.ok()) status = EndTransaction();
  if (!status.ok()) {
    // The caller exits; rolling back only keeps the database tidy for readers meanwhile.
    head_ = before;
    logs_->Forget();
    acks_.clear();
    RollBack();
    return status;
  }
  DT_RETURN_IF_ERROR(Promise());
  AskForSnapshot();
  return absl::OkStatus();
}

absl::Status SqlStore::WriteBatch(const Batch& batch) {
  for (const v1::Record* record : batch.records) DT_RETURN_IF_ERROR(WriteRecord(*record));
  for (const ChunkToStore* chunk : batch.chunks) DT_RETURN_IF_ERROR(WriteChunk(*chunk));
  for (const LogToStore* log : batch.logs) DT_RETURN_IF_ERROR(logs_->Append(*log));
  for (const AckToStore& ack : batch.acks) DT_RETURN_IF_ERROR(WriteAck(ack));
  for (const ExperimentId id : batch.deletions) {
    const auto experiment = static_cast<int64_t>(id);
    const int64_t checksum = Checksum().Add(experiment).Sum();
    DT_RETURN_IF_ERROR(insert_deleting_.Bind(1, experiment).Bind(2, checksum).Run());
    head_.AddRow(kDeleting, checksum);
    deleting_.push_back(id);
  }
  return deleting_.empty() ? absl::OkStatus() : ClearDeleted();
}

absl::Status SqlStore::WriteRecord(const v1::Record& record) {
  buffer_.clear();
  if (!record.AppendToString(&buffer_)) {
    return absl::InternalError("a record cannot be serialised: larger than 2 GiB");
  }
  HighWaterMark& mark = head_.mark;
  const JournalRow row{mark.sequence + 1, KindOf(record), kRecordVersion, buffer_};
  mark.hash = HashAfter(mark.hash, row);
  mark.sequence = row.sequence;
  if (record.has_experiment_submitted()) {
    mark.experiment = static_cast<int64_t>(record.experiment_submitted().experiment());
  }
  insert_record_.Bind(1, row.sequence).Bind(2, row.kind).Bind(3, row.version);
  DT_RETURN_IF_ERROR(insert_record_.BindBlob(4, buffer_).BindText(5, mark.hash).Run());
  return WriteSideRow(record);
}

// Copies the parts of records that reads of metrics need into side tables.
absl::Status SqlStore::WriteSideRow(const v1::Record& record) {
  if (record.has_attempt_running()) {
    const v1::AttemptRunning& running = record.attempt_running();
    const auto experiment = static_cast<int64_t>(running.experiment());
    const auto resumed = static_cast<int64_t>(running.resumed_step());
    const int64_t trial = running.trial(), attempt = running.attempt();
    const int64_t checksum = Checksum().Add(experiment).Add(trial).Add(attempt).Add(resumed).Sum();
    drop_run_.Bind(1, experiment).Bind(2, trial).Bind(3, attempt);
    DT_RETURN_IF_ERROR(Drop(kRuns, drop_run_).status());
    insert_run_.Bind(1, experiment).Bind(2, trial).Bind(3, attempt).Bind(4, resumed);
    head_.AddRow(kRuns, checksum);
    return insert_run_.Bind(5, checksum).Run();
  }
  if (record.has_evaluation()) {
    const v1::EvaluationRecorded& recorded = record.evaluation();
    buffer_.clear();
    if (!recorded.evaluation().AppendToString(&buffer_)) {
      return absl::InternalError("an evaluation cannot be serialised: larger than 2 GiB");
    }
    const auto experiment = static_cast<int64_t>(recorded.experiment());
    const int64_t trial = recorded.trial(), attempt = recorded.attempt();
    const int64_t checksum = Checksum().Add(experiment).Add(trial).Add(attempt).Add(buffer_).Sum();
    insert_evaluation_.Bind(1, experiment).Bind(2, trial).Bind(3, attempt).BindBlob(4, buffer_);
    head_.AddRow(kEvaluations, checksum);
    return insert_evaluation_.Bind(5, checksum).Run();
  }
  return absl::OkStatus();
}

absl::Status SqlStore::WriteChunk(const ChunkToStore& chunk) {
  const TrialId trial = chunk.attempt.trial;
  const int64_t checksum = ChunkChecksum(chunk);
  insert_chunk_.Bind(1, static_cast<int64_t>(trial.experiment)).Bind(2, trial.trial);
  insert_chunk_.Bind(3, chunk.attempt.attempt).Bind(4, static_cast<int64_t>(chunk.first_step));
  insert_chunk_.Bind(5, static_cast<int64_t>(chunk.last_step)).BindBlob(6, chunk.rows);
  head_.AddRow(kChunks, checksum);
  return insert_chunk_.Bind(7, checksum).Run();
}

absl::Status SqlStore::WriteAck(const AckToStore& ack) {
  const auto instance = static_cast<int64_t>(ack.instance);
  const auto sequence = static_cast<int64_t>(ack.sequence);
  // The journal's length orders the lives of a worker, well enough to drop the oldest.
  const int64_t touched = head_.mark.sequence + 1;
  const int64_t checksum =
      Checksum().Add(ack.worker).Add(instance).Add(sequence).Add(touched).Sum();
  head_.AddRow(kAcks, checksum);
  if (acks_.size() >= limits::kAcknowledgementsOnDisk) acks_.clear();
  const auto [known, is_new] = acks_.try_emplace({ack.worker, ack.instance}, checksum);
  if (!is_new) {
    head_.DropRow(kAcks, std::exchange(known->second, checksum));
    update_ack_.Bind(1, sequence).Bind(2, touched).Bind(3, checksum);
    return update_ack_.BindText(4, ack.worker).Bind(5, instance).Run();
  }
  DT_RETURN_IF_ERROR(Drop(kAcks, drop_ack_.BindText(1, ack.worker).Bind(2, instance)).status());
  insert_ack_.BindText(1, ack.worker).Bind(2, instance).Bind(3, sequence).Bind(4, touched);
  return insert_ack_.Bind(5, checksum).Run();
}

absl::StatusOr<int> SqlStore::Drop(Side side, Statement& statement) {
  for (int dropped = 0;; ++dropped) {
    auto row = statement.Step();
    if (!row.ok() || !*row) {
      statement.Reset();
      if (!row.ok()) return row.status();
      return dropped;
    }
    head_.DropRow(side, statement.Integer(0));
  }
}

absl::Status SqlStore::ClearDeleted() {
  const auto experiment = static_cast<int64_t>(deleting_.front());
  int removed = 0;
  for (size_t side = 0; side < clear_.size(); ++side) {
    clear_[side].Bind(1, experiment).Bind(2, limits::kClearedPerCommit);
    DT_ASSIGN_OR_RETURN(const int some, Drop(static_cast<Side>(side), clear_[side]));
    removed += some;
  }
  if (removed > 0) return absl::OkStatus();
  deleting_.erase(deleting_.begin());
  return Drop(kDeleting, drop_deleting_.Bind(1, experiment)).status();
}

void SqlStore::AskForSnapshots(int64_t every, std::function<void()> due) {
  snapshot_every_ = every;
  snapshot_due_ = std::move(due);
}

void SqlStore::AskForSnapshot() {
  const int64_t newest = head_.mark.sequence;
  if (!snapshot_due_ || newest - std::max(snapshot_, snapshot_asked_) < snapshot_every_) return;
  snapshot_asked_ = newest;
  snapshot_due_();
}

void SqlStore::OfferSnapshot(StoredSnapshot snapshot) {
  MutexLock lock(&mutex_);
  offered_ = std::move(snapshot);
}

absl::Status SqlStore::KeepSnapshot() {
  std::optional<StoredSnapshot> offered;
  {
    MutexLock lock(&mutex_);
    offered.swap(offered_);
  }
  if (!offered) return drop_to_ > 0 ? DropOldRecords() : absl::OkStatus();
  DT_RETURN_IF_ERROR(WriteSnapshot(Sql(), *offered));
  snapshot_ = offered->place.sequence;
  DT_RETURN_IF_ERROR(Sql().Execute(
      absl::StrCat("DELETE FROM snapshots WHERE sequence NOT IN (SELECT sequence FROM snapshots "
                   "ORDER BY sequence DESC LIMIT ",
                   limits::kSnapshotsKept, ")")));
  DT_RETURN_IF_ERROR(Sql().Execute(
      "DELETE FROM snapshot_parts WHERE sequence NOT IN (SELECT sequence FROM snapshots)"));
  // Without a deletion, the records stay, and a start needs no snapshot.
  DT_ASSIGN_OR_RETURN(
      const int64_t oldest,
      Sql().QueryInteger(absl::StrCat("SELECT CASE WHEN count(*) = ", limits::kSnapshotsKept,
                                      " THEN min(sequence) ELSE 0 END FROM snapshots")));
  DT_ASSIGN_OR_RETURN(const int64_t deletes,
                      Sql().QueryInteger(absl::StrCat(
                          "SELECT EXISTS (SELECT 1 FROM journal WHERE kind = ",
                          static_cast<int>(v1::Record::kExperimentDeleted), " AND sequence > ",
                          searched_to_, " AND sequence <= ", oldest, ")")));
  if (deletes != 0) {
    drop_to_ = oldest;
  } else {
    searched_to_ = std::max(searched_to_, oldest);
  }
  return absl::OkStatus();
}

absl::Status SqlStore::DropOldRecords() {
  DT_RETURN_IF_ERROR(Sql().Execute(
      absl::StrCat("DELETE FROM journal WHERE sequence IN (SELECT sequence FROM journal WHERE "
                   "sequence <= ",
                   drop_to_, " ORDER BY sequence LIMIT ", limits::kClearedPerCommit, ")")));
  if (Sql().ChangedRows() == 0) drop_to_ = 0;
  return absl::OkStatus();
}

absl::Status SqlStore::DropRowsUnless(const std::function<bool(const AttemptId&)>& known) {
  return CommitOnce([&]() -> absl::Status {
    for (const Side side : {kChunks, kLogs, kRuns, kEvaluations}) {
      const std::string table = kSideTables[side].name;
      DT_ASSIGN_OR_RETURN(
          Statement attempts,
          Statement::Prepare(
              Sql(), absl::StrCat("SELECT DISTINCT experiment, trial, attempt FROM ", table)));
      std::vector<AttemptId> unknown;
      while (true) {
        DT_ASSIGN_OR_RETURN(const bool found, attempts.Step());
        if (!found) break;
        const AttemptId id{{static_cast<ExperimentId>(attempts.Integer(0)),
                            static_cast<uint32_t>(attempts.Integer(1))},
                           static_cast<uint32_t>(attempts.Integer(2))};
        if (!known(id)) unknown.push_back(id);
      }
      DT_ASSIGN_OR_RETURN(
          Statement drop,
          Statement::Prepare(Sql(), absl::StrCat("DELETE FROM ", table,
                                                 " WHERE experiment = ? AND trial = ? AND "
                                                 "attempt = ? RETURNING checksum")));
      for (const AttemptId& id : unknown) {
        drop.Bind(1, static_cast<int64_t>(id.trial.experiment)).Bind(2, id.trial.trial);
        DT_RETURN_IF_ERROR(Drop(side, drop.Bind(3, id.attempt)).status());
      }
    }
    return absl::OkStatus();
  });
}

}  // namespace dt
