// backup.cc: copies all pages in one step, then syncs.
#include "coordinator/store/backup.h"

#include <sqlite3.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/status.h"

namespace dt {
namespace {

absl::Status CopyPages(Database& from, Database& to) {
  sqlite3_backup* backup = sqlite3_backup_init(to.handle(), "main", from.handle(), "main");
  if (backup == nullptr) return to.LastError("starting a backup");
  // Copies in one step: between steps another process may commit, and the copy would start again
  // each time.
  const int code = sqlite3_backup_step(backup, -1);
  const int finished = sqlite3_backup_finish(backup);
  if (finished != SQLITE_OK) return to.LastError("copying a database");
  if (code == SQLITE_DONE) return absl::OkStatus();
  return absl::UnavailableError(
      "the database is locked, as for a moment when its coordinator starts or stops; try again");
}

}  // namespace

absl::Status CopyDatabase(const std::string& path, Access access, const std::string& copy) {
  {
    DT_ASSIGN_OR_RETURN(Database from, Database::Open(path, access));
    DT_ASSIGN_OR_RETURN(Database to, Database::Open(copy, Access::kReadWrite));
    // The copy needs no journal of its own: nobody reads it before it is complete and synced below.
    DT_RETURN_IF_ERROR(to.Execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"));
    DT_RETURN_IF_ERROR(CopyPages(from, to));
  }
  std::error_code error;
  const uint64_t bytes = std::filesystem::file_size(copy, error);
  if (error) return IoError(absl::StrCat("cannot look at ", copy, ": ", error.message()));
  DT_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Reopen(copy, bytes));
  return file.SyncAndClose();
}

}  // namespace dt
