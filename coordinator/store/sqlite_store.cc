// sqlite_store.cc: opens the journal, replays it and commits batches.
#include "coordinator/store/sqlite_store.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/status.h"
#include "coordinator/store/check.h"
#include "coordinator/store/rebuild.h"
#include "coordinator/store/schema.h"

namespace dt {
namespace {

// A log that grew beyond 64 MiB is truncated when it starts again.
constexpr char kSettings[] = R"sql(
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA cache_size = -8192;
PRAGMA journal_size_limit = 67108864;
)sql";

int NoteWalPages(void* pages, sqlite3*, const char*, int count) {
  *static_cast<int*>(pages) = count;
  return SQLITE_OK;
}

// Checks the journal before it is opened for writing, and rebuilds it if needed. Fills `losses`.
// Returns whether the last coordinator stopped without a clean stop.
absl::StatusOr<bool> MakeWhole(const std::string& path, DataLossPolicy on_loss,
                               std::vector<std::string>& losses) {
  const uint64_t bytes_max = on_loss == DataLossPolicy::kGoOn ? std::numeric_limits<uint64_t>::max()
                                                              : limits::kJournalCheckedBytes;
  DT_RETURN_IF_ERROR(TakeUpRebuilt(path));
  DT_ASSIGN_OR_RETURN(const JournalReport report, CheckJournal(path, bytes_max));
  if (const std::vector<std::string> wrong = WrongOf(report); !wrong.empty()) {
    if (on_loss == DataLossPolicy::kRefuse) return absl::DataLossError(Refusal(path, wrong));
    DT_ASSIGN_OR_RETURN(losses, RebuildJournal(path, OldFiles::kKeep));
    losses.insert(losses.begin(), wrong.begin(), wrong.end());
  } else if (report.schema == 1) {
    // Folds the log into the file, since the new journal is made from the file alone.
    {
      DT_ASSIGN_OR_RETURN(Database old, Database::Open(path, Access::kReadWrite));
      DT_RETURN_IF_ERROR(old.Execute("PRAGMA wal_checkpoint(TRUNCATE)"));
    }
    DT_RETURN_IF_ERROR(RebuildJournal(path, OldFiles::kDrop).status());
  }
  return report.in_use;
}

}  // namespace

absl::StatusOr<std::unique_ptr<SqliteStore>> SqliteStore::Open(const std::string& directory,
                                                               const std::string& version,
                                                               DataLossPolicy on_loss) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    return absl::FailedPreconditionError(absl::StrCat("cannot create state directory ", directory,
                                                      ": ", error.message(),
                                                      "; give another --state-dir"));
  }
  chmod(directory.c_str(), 0700);
  DT_ASSIGN_OR_RETURN(DirectoryLock lock, LockStateDirectory(directory));
  const std::string path = directory + "/journal.db";
  std::vector<std::string> losses;
  DT_ASSIGN_OR_RETURN(const bool stopped_uncleanly, MakeWhole(path, on_loss, losses));
  DT_ASSIGN_OR_RETURN(Database opened, Database::Open(path, Access::kReadWrite));
  auto database = std::make_unique<Database>(std::move(opened));
  Database& used = *database;
  auto store = std::unique_ptr<SqliteStore>(
      new SqliteStore(std::move(lock), path, used, std::move(database)));
  store->losses_ = std::move(losses);
  store->stopped_uncleanly_ = stopped_uncleanly;
  DT_RETURN_IF_ERROR(store->Prepare());
  DT_RETURN_IF_ERROR(store->BeginWriting(version));
  return store;
}

absl::Status SqliteStore::Prepare() {
  // The page size takes effect only while there is no table.
  DT_RETURN_IF_ERROR(
      database_.Execute(absl::StrCat("PRAGMA page_size = ", kDatabasePageBytes, ";", kSettings)));
  DT_ASSIGN_OR_RETURN(const int64_t tables,
                      database_.QueryInteger("SELECT count(*) FROM sqlite_master"));
  if (tables == 0) {
    DT_RETURN_IF_ERROR(database_.Execute(absl::StrCat("BEGIN IMMEDIATE;", kSchema,
                                                      "PRAGMA application_id = ", kApplicationId,
                                                      "; PRAGMA user_version = ", kSchemaVersion)));
    DT_ASSIGN_OR_RETURN(HeadWriter head, HeadWriter::Prepare(database_));
    DT_RETURN_IF_ERROR(head.Write(NewHead()));
    DT_RETURN_IF_ERROR(database_.Execute("COMMIT"));
  }
  DT_ASSIGN_OR_RETURN(mark_, MarkFile::Open(MarkPathOf(place())));
  DT_RETURN_IF_ERROR(PrepareTables());
  const std::pair<Statement*, const char*> statements[] = {
      {&begin_, "BEGIN IMMEDIATE"},
      {&commit_, "COMMIT"},
      {&rollback_, "ROLLBACK"},
  };
  for (const auto& [statement, sql] : statements) {
    DT_ASSIGN_OR_RETURN(*statement, Statement::Prepare(database_, sql));
  }
  DT_ASSIGN_OR_RETURN(keeper_, WalKeeper::Start(place()));
  sqlite3_wal_hook(database_.handle(), NoteWalPages, &wal_pages_);
  return absl::OkStatus();
}

SqliteStore::~SqliteStore() = default;

absl::Status SqliteStore::Promise() {
  DT_RETURN_IF_ERROR(mark_->Write(head().mark));
  return keeper_->NoteCommit(database_, wal_pages_);
}

std::string SqliteStore::Refused(const std::string& damage) const {
  return Refusal(place(), {damage});
}

absl::Status SqliteStore::Close() {
  if (std::exchange(closed_, true)) return absl::OkStatus();
  keeper_.reset();
  DT_RETURN_IF_ERROR(database_.Execute("UPDATE in_use SET flag = 0"));
  return database_.Execute("PRAGMA wal_checkpoint(TRUNCATE)");
}

}  // namespace dt
