#include "coordinator/store/sqlite_journal.h"

#include "common/status.h"
#include "coordinator/store/journal.h"

namespace dt {

absl::StatusOr<std::unique_ptr<JournalReader>> SqliteJournal::Open(const std::string& directory) {
  DT_ASSIGN_OR_RETURN(Database database,
                      Database::Open(directory + "/journal.db", Access::kReadOnly));
  DT_RETURN_IF_ERROR(database.Execute("PRAGMA query_only = ON; PRAGMA cache_size = -1024;"));
  return std::unique_ptr<JournalReader>(new SqliteJournal(std::move(database)));
}

absl::StatusOr<std::unique_ptr<JournalReader>> SqliteJournal::OpenOffline(const std::string& path) {
  DT_ASSIGN_OR_RETURN(Database database, Database::Open(path, Access::kOffline));
  return std::unique_ptr<JournalReader>(new SqliteJournal(std::move(database)));
}

absl::Status SqliteJournal::Replay(JournalPlace& place,
                                   const std::function<absl::Status(const v1::Record&)>& visit) {
  return ReadRecords(database_, place, visit);
}

absl::StatusOr<StoredSnapshot> SqliteJournal::ReadSnapshot(int64_t below) {
  return ReadSnapshotBelow(database_, below);
}

}  // namespace dt
