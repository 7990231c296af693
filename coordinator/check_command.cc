#include "coordinator/check_command.h"

#include <cstdio>
#include <filesystem>
#include <limits>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "common/text.h"
#include "coordinator/code/code_store.h"
#include "coordinator/database_flags.h"
#include "coordinator/offline_journal.h"
#include "coordinator/store/check.h"
#include "coordinator/store/directory_lock.h"
#include "coordinator/store/postgres.h"

namespace dt {
namespace {

namespace fs = std::filesystem;

constexpr char kInUse[] = "its coordinator was running, or did not stop cleanly\n";

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "dtcoord check: %s\n", std::string(status.message()).c_str());
  return 1;
}

}  // namespace

int CheckCommand(const std::string& journal) {
  if (journal.empty()) {
    std::fprintf(stderr, "dtcoord check: name a state folder, a journal.db or --database-file\n");
    return 2;
  }
  std::error_code error;
  const std::string path = JournalPathOf(journal);
  if (!fs::exists(path, error) && !fs::exists(MarkPathOf(path), error)) {
    std::fprintf(stderr,
                 "dtcoord check: there is no journal at %s; name a state folder or a file\n",
                 path.c_str());
    return 2;
  }
  // A running coordinator has the lock of its folder; a backup has none.
  const fs::path folder = fs::path(path).parent_path();
  const auto lock = LockStateDirectoryToRead(folder.empty() ? "." : folder.string());
  if (!lock.ok()) return Fail(lock.status());
  const auto report = CheckJournal(path, std::numeric_limits<uint64_t>::max());
  if (!report.ok()) return Fail(report.status());
  std::printf("%s: %s\n", path.c_str(), ContentsOf(*report).c_str());
  if (report->in_use) std::printf("%s", kInUse);
  const bool backup = !report->marked && !lock->file.valid();
  if (backup)
    std::printf(
        "there is no journal.mark beside it, so the check cannot find missing commits at its "
        "end\n");
  std::vector<std::string> wrong = backup ? report->damage : WrongOf(*report);
  wrong.insert(wrong.end(), report->spare.begin(), report->spare.end());
  const std::string code_folder = CodeFolderOf(folder.empty() ? "." : folder.string());
  const CodeReport code = CheckCode(code_folder);
  if (code.kept > 0) {
    std::printf("beside it: %lld folders of packed code, %s\n", static_cast<long long>(code.kept),
                FormatBytes(static_cast<double>(code.bytes)).c_str());
  }
  if (wrong.empty() && report->head) {
    const auto missing = MissingCode(path, code_folder);
    if (!missing.ok()) return Fail(missing.status());
    wrong = *missing;
  }
  wrong.insert(wrong.end(), code.damaged.begin(), code.damaged.end());
  if (wrong.empty()) {
    std::printf("whole\n");
    return 0;
  }
  std::printf("damaged or incomplete:\n");
  for (const std::string& line : wrong) std::printf("  %s\n", line.c_str());
  std::printf(
      "restore the folder from a backup, or continue with its undamaged part: "
      "dtcoord --accept-loss\n");
  return 1;
}

int CheckDatabaseCommand(const std::string& file) {
  const auto conninfo = ReadConnectionFile(file);
  if (!conninfo.ok()) {
    Fail(conninfo.status());
    return 2;
  }
  const auto checked = [&conninfo]() -> absl::StatusOr<JournalReport> {
    DT_ASSIGN_OR_RETURN(const auto database, Postgres::Connect(*conninfo, Postgres::IfLost::kFail));
    DT_RETURN_IF_ERROR(database->BeginReading());
    DT_ASSIGN_OR_RETURN(JournalReport report, CheckTables(*database, Thoroughness::kEverything));
    std::printf("%s: %s\n", database->name().c_str(), ContentsOf(report).c_str());
    return report;
  };
  const auto report = checked();
  if (!report.ok()) return Fail(report.status());
  if (report->in_use) std::printf("%s", kInUse);
  std::vector<std::string> wrong = report->damage;
  wrong.insert(wrong.end(), report->spare.begin(), report->spare.end());
  if (wrong.empty()) {
    std::printf("whole\n");
    return 0;
  }
  std::printf("damaged or incomplete:\n");
  for (const std::string& line : wrong) std::printf("  %s\n", line.c_str());
  std::printf("restore the database from a backup (pg_restore)\n");
  return 1;
}

}  // namespace dt
