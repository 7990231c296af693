#include "coordinator/store/sql_journal.h"

#include "common/status.h"
#include "coordinator/store/journal.h"
#include "coordinator/store/sqlite.h"

namespace dt {
namespace {

std::unique_ptr<JournalReader> Over(Database database) {
  return std::make_unique<SqlJournal>(std::make_unique<Database>(std::move(database)));
}

}  // namespace

absl::Status SqlJournal::Replay(JournalPlace& place,
                                const std::function<absl::Status(const v1::Record&)>& visit) {
  return ReadRecords(*connection_, place, visit);
}

absl::StatusOr<StoredSnapshot> SqlJournal::ReadSnapshot(int64_t below) {
  return ReadSnapshotBelow(*connection_, below);
}

absl::StatusOr<std::unique_ptr<JournalReader>> OpenSqliteJournal(const std::string& directory) {
  DT_ASSIGN_OR_RETURN(Database database,
                      Database::Open(directory + "/journal.db", Access::kReadOnly));
  DT_RETURN_IF_ERROR(database.Execute("PRAGMA query_only = ON; PRAGMA cache_size = -1024;"));
  return Over(std::move(database));
}

absl::StatusOr<std::unique_ptr<JournalReader>> OpenSqliteJournalOffline(const std::string& path) {
  DT_ASSIGN_OR_RETURN(Database database, Database::Open(path, Access::kOffline));
  return Over(std::move(database));
}

}  // namespace dt
