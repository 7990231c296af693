// sqlite_store.cc: opens the journal, folds it out again and commits batches.
#include "coordinator/store/sqlite_store.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/status.h"
#include "coordinator/store/schema.h"

namespace dt {
namespace {

// Rows of a deleted experiment cleared from each side table with one commit: some milliseconds.
constexpr int64_t kClearedPerCommit = 256;
// Lives of one worker whose acknowledgements are kept; older ones can hold nothing that matters.
constexpr char kForgetOldInstances[] =
    "DELETE FROM acks WHERE (worker, instance) IN (SELECT worker, instance FROM (SELECT worker, "
    "instance, row_number() OVER (PARTITION BY worker ORDER BY touched DESC) AS age FROM acks) "
    "WHERE age > 8)";

// page_size holds before the first table. A log that grew beyond 64 MiB is cut when it starts
// again.
constexpr char kSettings[] = R"sql(
PRAGMA page_size = 8192;
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA cache_size = -8192;
PRAGMA journal_size_limit = 67108864;
)sql";

int NoteWalPages(void* pages, sqlite3*, const char*, int count) {
  *static_cast<int*>(pages) = count;
  return SQLITE_OK;
}

int KindOf(const v1::Record& record) { return static_cast<int>(record.fact_case()); }

bool KnownKind(int64_t kind) {
  const auto* field = v1::Record::descriptor()->FindFieldByNumber(static_cast<int>(kind));
  return field != nullptr && field->containing_oneof() != nullptr;
}

absl::StatusOr<int64_t> QueryInteger(Database& database, const char* sql) {
  DT_ASSIGN_OR_RETURN(const std::string text, database.QueryText(sql));
  int64_t value = 0;
  if (!absl::SimpleAtoi(text, &value)) {
    return absl::DataLossError(absl::StrCat(sql, " answered '", text, "', not a number"));
  }
  return value;
}

absl::Status CheckOrCreateSchema(Database& database, const std::string& path) {
  DT_ASSIGN_OR_RETURN(const int64_t application, QueryInteger(database, "PRAGMA application_id"));
  DT_ASSIGN_OR_RETURN(const int64_t version, QueryInteger(database, "PRAGMA user_version"));
  DT_ASSIGN_OR_RETURN(const int64_t tables,
                      QueryInteger(database, "SELECT count(*) FROM sqlite_master"));
  if (application == 0 && version == 0 && tables == 0) {
    return database.Execute(absl::StrCat("BEGIN IMMEDIATE;", kSchema,
                                         "PRAGMA application_id = ", kApplicationId,
                                         "; PRAGMA user_version = ", kSchemaVersion, "; COMMIT;")
                                .c_str());
  }
  if (application != kApplicationId) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is not a dtrain journal; give another --state-dir"));
  }
  if (version != kSchemaVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " has schema version ", version, " and this dtcoord knows ",
                     kSchemaVersion, "; run the version that wrote it, or a newer one"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<DirectoryLock> DirectoryLock::Take(const std::string& directory) {
  const std::string path = directory + "/lock";
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": ", std::strerror(errno), "; give a --state-dir this user may write"));
  }
  DirectoryLock lock(fd);
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    char holder[32] = {};
    const ssize_t length = pread(fd, holder, sizeof(holder) - 1, 0);
    return absl::FailedPreconditionError(
        absl::StrCat("state directory ", directory, " is in use by another dtcoord",
                     length > 0 ? absl::StrCat(" (process ", holder, ")") : std::string(),
                     "; stop it, or give another --state-dir"));
  }
  const std::string own = absl::StrCat(getpid());
  // The number only helps a person; the lock itself is what counts, so a failed write is no error.
  if (ftruncate(fd, 0) != 0 || pwrite(fd, own.data(), own.size(), 0) < 0) return lock;
  return lock;
}

DirectoryLock::DirectoryLock(DirectoryLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

DirectoryLock::~DirectoryLock() {
  if (fd_ >= 0) close(fd_);
}

absl::StatusOr<std::unique_ptr<SqliteStore>> SqliteStore::Open(const std::string& directory,
                                                               const std::string& version) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    return absl::FailedPreconditionError(absl::StrCat("cannot create state directory ", directory,
                                                      ": ", error.message(),
                                                      "; give another --state-dir"));
  }
  chmod(directory.c_str(), 0700);
  DT_ASSIGN_OR_RETURN(DirectoryLock lock, DirectoryLock::Take(directory));
  const std::string path = directory + "/journal.db";
  DT_ASSIGN_OR_RETURN(Database database, Database::Open(path, Access::kReadWrite));
  auto store =
      std::unique_ptr<SqliteStore>(new SqliteStore(std::move(lock), path, std::move(database)));
  DT_RETURN_IF_ERROR(store->Prepare(version));
  return store;
}

absl::Status SqliteStore::Prepare(const std::string& version) {
  DT_RETURN_IF_ERROR(database_.Execute(kSettings));
  DT_RETURN_IF_ERROR(CheckOrCreateSchema(database_, path_));
  DT_ASSIGN_OR_RETURN(const int64_t in_use, QueryInteger(database_, "SELECT flag FROM in_use"));
  stopped_uncleanly_ = in_use != 0;
  if (stopped_uncleanly_) {
    DT_ASSIGN_OR_RETURN(const std::string verdict, database_.QueryText("PRAGMA quick_check(1)"));
    if (verdict != "ok") {
      return absl::DataLossError(absl::StrCat(path_, " is damaged: ", verdict,
                                              "; restore it from a backup, or move it away and "
                                              "start anew"));
    }
  }
  DT_ASSIGN_OR_RETURN(
      next_sequence_,
      QueryInteger(database_, "SELECT coalesce(max(sequence), 0) + 1 FROM journal"));
  DT_RETURN_IF_ERROR(database_.Execute("UPDATE in_use SET flag = 1"));
  DT_RETURN_IF_ERROR(database_.Execute(kForgetOldInstances));
  DT_RETURN_IF_ERROR(database_.Execute(
      absl::StrCat("DELETE FROM acks WHERE (worker, instance) NOT IN (SELECT worker, instance FROM "
                   "acks ORDER BY touched DESC LIMIT ",
                   limits::kAcknowledgementsOnDisk, ")")
          .c_str()));
  DT_ASSIGN_OR_RETURN(
      Statement writer,
      Statement::Prepare(database_, "INSERT OR REPLACE INTO writers VALUES (?, ?)"));
  DT_RETURN_IF_ERROR(writer.Bind(1, next_sequence_).BindText(2, version).Run());
  DT_ASSIGN_OR_RETURN(Statement deleting,
                      Statement::Prepare(database_, "SELECT experiment FROM deleting"));
  while (true) {
    DT_ASSIGN_OR_RETURN(const bool row, deleting.Step());
    if (!row) break;
    deleting_.push_back(static_cast<ExperimentId>(deleting.Integer(0)));
  }
  return PrepareStatements();
}

absl::Status SqliteStore::PrepareStatements() {
  const std::pair<Statement*, const char*> statements[] = {
      {&begin_, "BEGIN IMMEDIATE"},
      {&commit_, "COMMIT"},
      {&rollback_, "ROLLBACK"},
      {&insert_record_, "INSERT INTO journal VALUES (?, ?, ?, ?)"},
      {&insert_chunk_,
       "INSERT INTO chunks (experiment, trial, attempt, first_step, last_step, rows) "
       "VALUES (?, ?, ?, ?, ?, ?)"},
      {&insert_ack_, "INSERT OR REPLACE INTO acks VALUES (?, ?, ?, ?)"},
      {&insert_run_, "INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?)"},
      {&insert_evaluation_,
       "INSERT INTO evaluations (experiment, trial, attempt, evaluation) VALUES (?, ?, ?, ?)"},
      {&insert_deleting_, "INSERT OR REPLACE INTO deleting VALUES (?)"},
      {&delete_deleting_, "DELETE FROM deleting WHERE experiment = ?"},
      {&clear_[0],
       "DELETE FROM chunks WHERE id IN (SELECT id FROM chunks WHERE experiment = ? LIMIT ?)"},
      {&clear_[1],
       "DELETE FROM logs WHERE id IN (SELECT id FROM logs WHERE experiment = ? LIMIT ?)"},
      {&clear_[2],
       "DELETE FROM evaluations WHERE id IN "
       "(SELECT id FROM evaluations WHERE experiment = ? LIMIT ?)"},
      {&clear_[3],
       "DELETE FROM runs WHERE (experiment, trial, attempt) IN "
       "(SELECT experiment, trial, attempt FROM runs WHERE experiment = ? LIMIT ?)"},
  };
  for (const auto& [statement, sql] : statements) {
    DT_ASSIGN_OR_RETURN(*statement, Statement::Prepare(database_, sql));
  }
  DT_ASSIGN_OR_RETURN(logs_, LogTable::Open(database_));
  DT_ASSIGN_OR_RETURN(keeper_, WalKeeper::Start(path_));
  sqlite3_wal_hook(database_.handle(), NoteWalPages, &wal_pages_);
  return absl::OkStatus();
}

SqliteStore::~SqliteStore() = default;

std::string SqliteStore::WriterOf(int64_t sequence) {
  auto query = Statement::Prepare(database_,
                                  "SELECT version FROM writers WHERE first_sequence <= ? "
                                  "ORDER BY first_sequence DESC LIMIT 1");
  if (!query.ok()) return "unknown";
  query->Bind(1, sequence);
  auto row = query->Step();
  return row.ok() && *row ? std::string(query->Blob(0)) : "unknown";
}

absl::Status SqliteStore::Replay(const std::function<absl::Status(const v1::Record&)>& visit) {
  DT_ASSIGN_OR_RETURN(
      Statement query,
      Statement::Prepare(database_,
                         "SELECT sequence, kind, version, record FROM journal ORDER BY sequence"));
  int64_t expected = 1;
  v1::Record record;
  while (true) {
    DT_ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) return absl::OkStatus();
    const int64_t sequence = query.Integer(0);
    const int64_t kind = query.Integer(1);
    const int64_t version = query.Integer(2);
    if (sequence != expected++) {
      return absl::DataLossError(absl::StrCat(path_, ": journal row ", expected - 1,
                                              " is missing; restore the file from a backup"));
    }
    if (version > kRecordVersion || !KnownKind(kind)) {
      return absl::FailedPreconditionError(
          absl::StrCat(path_, ": journal row ", sequence, " is of kind ", kind, " version ",
                       version, ", written by dtrain ", WriterOf(sequence),
                       ", which this build does not know; run that version or a newer one"));
    }
    const std::string_view blob = query.Blob(3);
    if (!record.ParseFromArray(blob.data(), static_cast<int>(blob.size())) ||
        KindOf(record) != kind) {
      return absl::DataLossError(absl::StrCat(path_, ": journal row ", sequence,
                                              " cannot be read; restore the file from a backup"));
    }
    DT_RETURN_IF_ERROR(visit(record));
  }
}

absl::StatusOr<std::vector<AckToStore>> SqliteStore::ReadAcks() {
  DT_ASSIGN_OR_RETURN(
      Statement query,
      Statement::Prepare(
          database_,
          "SELECT worker, instance, sequence FROM acks ORDER BY worker, touched, instance"));
  std::vector<AckToStore> acks;
  while (true) {
    DT_ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) return acks;
    acks.push_back({std::string(query.Blob(0)), static_cast<InstanceId>(query.Integer(1)),
                    static_cast<uint64_t>(query.Integer(2))});
  }
}

absl::Status SqliteStore::Commit(const Batch& batch) {
  DT_RETURN_IF_ERROR(begin_.Run());
  absl::Status status = WriteBatch(batch);
  if (status.ok()) status = commit_.Run();
  if (status.ok()) return keeper_->OnCommit(database_, wal_pages_);
  // The caller exits; rolling back only keeps the file tidy for whoever looks at it meanwhile.
  logs_->Forget();
  rollback_.Run().IgnoreError();
  return status;
}

absl::Status SqliteStore::WriteBatch(const Batch& batch) {
  for (const v1::Record* record : batch.records) DT_RETURN_IF_ERROR(WriteRecord(*record));
  for (const ChunkToStore* chunk : batch.chunks) DT_RETURN_IF_ERROR(WriteChunk(*chunk));
  for (const LogToStore* log : batch.logs) DT_RETURN_IF_ERROR(logs_->Append(*log));
  for (const AckToStore& ack : batch.acks) DT_RETURN_IF_ERROR(WriteAck(ack));
  for (const ExperimentId experiment : batch.deletions) {
    DT_RETURN_IF_ERROR(insert_deleting_.Bind(1, static_cast<int64_t>(experiment)).Run());
    deleting_.push_back(experiment);
  }
  return deleting_.empty() ? absl::OkStatus() : ClearDeleted();
}

absl::Status SqliteStore::WriteRecord(const v1::Record& record) {
  buffer_.clear();
  if (!record.AppendToString(&buffer_)) {
    return absl::InternalError("a record cannot be serialised: larger than 2 GiB");
  }
  insert_record_.Bind(1, next_sequence_++).Bind(2, KindOf(record)).Bind(3, kRecordVersion);
  DT_RETURN_IF_ERROR(insert_record_.BindBlob(4, buffer_).Run());
  return WriteSideRow(record);
}

// Copies what reads of metrics need beside the journal.
absl::Status SqliteStore::WriteSideRow(const v1::Record& record) {
  if (record.has_attempt_running()) {
    const v1::AttemptRunning& running = record.attempt_running();
    insert_run_.Bind(1, static_cast<int64_t>(running.experiment())).Bind(2, running.trial());
    insert_run_.Bind(3, running.attempt()).Bind(4, static_cast<int64_t>(running.resumed_step()));
    return insert_run_.Run();
  }
  if (record.has_evaluation()) {
    const v1::EvaluationRecorded& recorded = record.evaluation();
    buffer_.clear();
    if (!recorded.evaluation().AppendToString(&buffer_)) {
      return absl::InternalError("an evaluation cannot be serialised: larger than 2 GiB");
    }
    insert_evaluation_.Bind(1, static_cast<int64_t>(recorded.experiment()));
    insert_evaluation_.Bind(2, recorded.trial()).Bind(3, recorded.attempt());
    return insert_evaluation_.BindBlob(4, buffer_).Run();
  }
  return absl::OkStatus();
}

absl::Status SqliteStore::WriteChunk(const ChunkToStore& chunk) {
  const TrialId trial = chunk.attempt.trial;
  insert_chunk_.Bind(1, static_cast<int64_t>(trial.experiment)).Bind(2, trial.trial);
  insert_chunk_.Bind(3, chunk.attempt.attempt).Bind(4, static_cast<int64_t>(chunk.first_step));
  insert_chunk_.Bind(5, static_cast<int64_t>(chunk.last_step)).BindBlob(6, chunk.rows);
  return insert_chunk_.Run();
}

absl::Status SqliteStore::WriteAck(const AckToStore& ack) {
  insert_ack_.BindText(1, ack.worker).Bind(2, static_cast<int64_t>(ack.instance));
  // The journal's length orders the lives of a worker well enough to forget the oldest.
  return insert_ack_.Bind(3, static_cast<int64_t>(ack.sequence)).Bind(4, next_sequence_).Run();
}

absl::Status SqliteStore::ClearDeleted() {
  const int64_t experiment = static_cast<int64_t>(deleting_.front());
  int removed = 0;
  for (Statement& clear : clear_) {
    DT_RETURN_IF_ERROR(clear.Bind(1, experiment).Bind(2, kClearedPerCommit).Run());
    removed += database_.ChangedRows();
  }
  if (removed > 0) return absl::OkStatus();
  deleting_.erase(deleting_.begin());
  return delete_deleting_.Bind(1, experiment).Run();
}

absl::Status SqliteStore::Close() {
  if (std::exchange(closed_, true)) return absl::OkStatus();
  keeper_.reset();
  DT_RETURN_IF_ERROR(database_.Execute("UPDATE in_use SET flag = 0"));
  return database_.Execute("PRAGMA wal_checkpoint(TRUNCATE)");
}

}  // namespace dt
