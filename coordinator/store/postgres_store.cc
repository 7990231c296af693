#include "coordinator/store/postgres_store.h"

#include <time.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/lead_limits.h"
#include "common/status.h"
#include "coordinator/store/check_tables.h"
#include "coordinator/store/journal.h"
#include "coordinator/store/schema.h"
#include "coordinator/store/sql_journal.h"
#include "coordinator/store/sql_reader.h"

namespace dt {
namespace {

// Has one row: the current term and its leader.
constexpr char kLeaderTable[] =
    "CREATE TABLE leader (id BIGINT PRIMARY KEY, term BIGINT NOT NULL, holder BYTEA NOT NULL, "
    "schema_version BIGINT NOT NULL);";

constexpr char kReadTerm[] = "SELECT term FROM leader WHERE id = 1";

// Reads a clock that also runs while the host is suspended, like the server's.
int64_t SteadyNs() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

absl::StatusOr<std::unique_ptr<PostgresStore>> PostgresStore::Lead(
    DirectoryLock lock, std::unique_ptr<Postgres> connection, LeadOptions options) {
  const std::string name = connection->name();
  auto store = std::unique_ptr<PostgresStore>(
      new PostgresStore(std::move(lock), name, std::move(connection), std::move(options)));
  DT_RETURN_IF_ERROR(store->MakeTables());
  DT_RETURN_IF_ERROR(store->BeginTerm());
  DT_RETURN_IF_ERROR(store->CheckSmallTables());
  DT_RETURN_IF_ERROR(store->PrepareTables());
  DT_RETURN_IF_ERROR(store->BeginWriting(store->options_.version));
  PostgresStore& begun = *store;
  begun.beat_ = std::thread([&begun] { begun.Beat(); });
  return store;
}

absl::Status PostgresStore::MakeTables() {
  DT_ASSIGN_OR_RETURN(const int64_t made,
                      Sql().QueryInteger("SELECT to_regclass('dtrain.leader') IS NOT NULL"));
  if (made != 0) {
    DT_ASSIGN_OR_RETURN(const int64_t version,
                        Sql().QueryInteger("SELECT schema_version FROM leader WHERE id = 1"));
    if (version == kSchemaVersion) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat(place(), " has schema version ", version, " and this dtcoord knows ",
                     kSchemaVersion, "; run the version that wrote it, or a newer one"));
  }
  DT_RETURN_IF_ERROR(Sql().Execute(
      absl::StrCat("BEGIN; CREATE SCHEMA IF NOT EXISTS dtrain;", WithPostgresTypes(kSchema),
                   kLeaderTable, "INSERT INTO leader VALUES (1, 0, '', ", kSchemaVersion, ")")));
  DT_ASSIGN_OR_RETURN(HeadWriter head, HeadWriter::Prepare(Sql()));
  DT_RETURN_IF_ERROR(head.Write(NewHead()));
  return Sql().Execute("COMMIT");
}

// Waits for a transaction of the previous leader, which locks the row. None exists once that
// leader's connection has ended; the end also gave this process the lock.
absl::Status PostgresStore::BeginTerm() {
  DT_ASSIGN_OR_RETURN(Statement raise,
                      Statement::Prepare(Sql(),
                                         "UPDATE leader SET term = term + 1, holder = ? WHERE id "
                                         "= 1 RETURNING term"));
  raise.BindText(1, options_.self);
  const int64_t sent = SteadyNs();
  DT_ASSIGN_OR_RETURN(const bool found, raise.Step());
  if (!found) return absl::DataLossError(Refused("the row with the term is missing"));
  term_ = raise.Integer(0);
  heard_ns_.store(sent);
  return absl::OkStatus();
}

absl::Status PostgresStore::CheckSmallTables() {
  DT_ASSIGN_OR_RETURN(const JournalReport report, CheckTables(Sql(), Thoroughness::kSmallTables));
  if (report.damage.empty()) return absl::OkStatus();
  return absl::DataLossError(Refused(absl::StrJoin(report.damage, "; ")));
}

PostgresStore::~PostgresStore() { StopBeating(); }

void PostgresStore::StopBeating() {
  {
    MutexLock lock(&stop_mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  if (beat_.joinable()) beat_.join();
}

// Reads over its own connection: a long journal must not delay this process's heartbeats on the
// store's connection.
absl::Status PostgresStore::Replay(JournalPlace& place,
                                   const std::function<absl::Status(const v1::Record&)>& visit) {
  DT_ASSIGN_OR_RETURN(const auto journal, OpenPostgresJournal(options_.conninfo));
  return Explained(journal->Replay(place, visit));
}

absl::StatusOr<StoredSnapshot> PostgresStore::ReadSnapshot(int64_t below) {
  MutexLock lock(&busy_);
  return SqlStore::ReadSnapshot(below);
}

absl::StatusOr<std::vector<AckToStore>> PostgresStore::ReadAcks() {
  MutexLock lock(&busy_);
  return SqlStore::ReadAcks();
}

absl::StatusOr<uint64_t> PostgresStore::ReadNewestStep(const AttemptId& attempt) {
  MutexLock lock(&busy_);
  return SqlStore::ReadNewestStep(attempt);
}

absl::Status PostgresStore::CommitOnce(const std::function<absl::Status()>& write) {
  MutexLock lock(&busy_);
  return SqlStore::CommitOnce(write);
}

bool PostgresStore::LeadIsCertain() const {
  return absl::Nanoseconds(SteadyNs() - heard_ns_.load()) < limits::kLeadDoubt;
}

absl::Status PostgresStore::ConfirmLead() {
  if (LeadIsCertain()) return absl::OkStatus();
  MutexLock lock(&busy_);
  return CheckTerm(kReadTerm);
}

absl::Status PostgresStore::BeginTransaction() {
  absl::Status term = CheckTerm(absl::StrCat("BEGIN; ", kReadTerm, " FOR UPDATE"));
  if (!term.ok()) RollBack();
  return term;
}

absl::Status PostgresStore::CheckTerm(const std::string& query) {
  const int64_t sent = SteadyNs();
  DT_ASSIGN_OR_RETURN(const int64_t term, Sql().QueryInteger(query));
  if (term == term_) {
    heard_ns_.store(sent);
    return absl::OkStatus();
  }
  return absl::AbortedError(absl::StrCat(place(), ": another coordinator leads in term ", term,
                                         ", and this one's was ", term_));
}

std::string PostgresStore::Refused(const std::string& damage) const {
  return absl::StrCat(place(), " is damaged or incomplete: ", damage,
                      ". Restore it from a backup (pg_restore), or use another database");
}

void PostgresStore::Beat() {
  absl::Status status;
  while (status.ok()) {
    {
      MutexLock lock(&stop_mutex_);
      if (!stopping_) changed_.WaitFor(&stop_mutex_, limits::kLeaderBeat);
      if (stopping_) return;
    }
    MutexLock lock(&busy_);
    status = CheckTerm(kReadTerm);
  }
  options_.lost(status);
}

absl::Status PostgresStore::Close() {
  StopBeating();
  DT_RETURN_IF_ERROR(BeginTransaction());
  DT_RETURN_IF_ERROR(Sql().Execute("UPDATE in_use SET flag = 0"));
  DT_RETURN_IF_ERROR(EndTransaction());
  return Sql().Execute("SELECT pg_advisory_unlock_all()");
}

absl::StatusOr<std::unique_ptr<JournalReader>> OpenPostgresJournal(const std::string& conninfo) {
  DT_ASSIGN_OR_RETURN(auto connection, Postgres::Connect(conninfo, Postgres::IfLost::kFail));
  // Reads a snapshot's row and its parts as of one moment, whatever the leader drops meanwhile.
  DT_RETURN_IF_ERROR(connection->BeginReading());
  return std::unique_ptr<JournalReader>(std::make_unique<SqlJournal>(std::move(connection)));
}

absl::StatusOr<std::unique_ptr<StoreReader>> OpenPostgresReader(const std::string& conninfo) {
  DT_ASSIGN_OR_RETURN(auto connection, Postgres::Connect(conninfo, Postgres::IfLost::kReconnect));
  return SqlReader::Over(std::move(connection));
}

}  // namespace dt
