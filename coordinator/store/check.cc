// check.cc: checks from the outside in: the file, its mark, its schema and structure, its rows.
#include "coordinator/store/check.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/limits.h"
#include "common/status.h"
#include "coordinator/store/header.h"
#include "coordinator/store/sqlite.h"

namespace dt {
namespace {

namespace fs = std::filesystem;

std::string OtherCopy(int64_t sequence) {
  return absl::StrCat("record ", sequence,
                      " is not the one that was acknowledged: the journal is another copy");
}

constexpr char kListSchema[] =
    "SELECT coalesce(group_concat(type || name || tbl_name || ifnull(sql, ''), char(10)), '') "
    "FROM (SELECT * FROM sqlite_master ORDER BY type, name)";

absl::StatusOr<std::string> OwnSchema() {
  DT_ASSIGN_OR_RETURN(Database database, Database::Open(":memory:", Access::kReadWrite));
  DT_RETURN_IF_ERROR(database.Execute(kSchema));
  return database.QueryText(kListSchema);
}

// Adds the checks that only a file needs.
class FileCheck : public TableCheck {
 public:
  FileCheck(Database& database, JournalReport& report)
      : TableCheck(database, report, " NOT INDEXED"), database_(database) {}

  // Each method reports its findings; unreadable parts count as damage.
  void Structure() {
    Note([&]() -> absl::Status {
      DT_ASSIGN_OR_RETURN(Statement query,
                          Statement::Prepare(database_, absl::StrCat("PRAGMA integrity_check(",
                                                                     limits::kDamagesTold, ")")));
      while (true) {
        DT_ASSIGN_OR_RETURN(const bool found, query.Step());
        if (!found) return absl::OkStatus();
        const std::string text = query.Text(0);
        if (text != "ok") Tell(absl::StrCat("the file's structure: ", text));
      }
    });
  }
  void Schema() {
    Note([&]() -> absl::Status {
      DT_ASSIGN_OR_RETURN(const std::string own, OwnSchema());
      DT_ASSIGN_OR_RETURN(const std::string found, database_.QueryText(kListSchema));
      if (found != own) Tell("its tables are not those of this version");
      return absl::OkStatus();
    });
  }

 private:
  Database& database_;
};

// Identifies the file by its own numbers. Sets `schema`. Returns an error for a journal that this
// version cannot read.
absl::Status Identify(Database& database, const std::string& path, JournalReport& report) {
  DT_ASSIGN_OR_RETURN(const int64_t tables,
                      database.QueryInteger("SELECT count(*) FROM sqlite_master"));
  DT_ASSIGN_OR_RETURN(const int64_t application, database.QueryInteger("PRAGMA application_id"));
  DT_ASSIGN_OR_RETURN(report.schema, database.QueryInteger("PRAGMA user_version"));
  if (tables == 0) {
    report.schema = 0;
    if (report.marked) return absl::DataLossError(absl::StrCat(path, " is empty"));
    return absl::OkStatus();
  }
  const bool ours = application == kApplicationId;
  const bool known = report.schema >= 1 && report.schema <= kSchemaVersion;
  if (ours && known) return absl::OkStatus();
  // The program that made tables like these also wrote its numbers beside them.
  DT_ASSIGN_OR_RETURN(const std::string own, OwnSchema());
  DT_ASSIGN_OR_RETURN(const std::string found, database.QueryText(kListSchema));
  if (found == own) {
    report.schema = kSchemaVersion;
    return absl::DataLossError(
        ours ? "the file's header: the schema's version, in bytes 60 to 63, is not that of its "
               "tables"
             : "the file's header: the application's number, in bytes 68 to 71, is not dtcoord's");
  }
  if (!ours) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is not a dtrain journal; give another --state-dir"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat(path, " has schema version ", report.schema, " and this dtcoord knows ",
                   kSchemaVersion, "; run the version that wrote it, or a newer one"));
}

}  // namespace

std::string MarkPathOf(const std::string& path) {
  return fs::path(path).replace_extension(".mark").string();
}

std::string MissingOf(const StoreHead& head, const std::optional<HighWaterMark>& mark) {
  const HighWaterMark& found = head.mark;
  // The first commit names the mark's journal; no client knows of it before the mark is written.
  if (!mark) {
    return found.commits <= 1 ? ""
                              : "journal.mark is missing or cannot be read, so it is "
                                "unknown whether the newest commits are there";
  }
  if (mark->store != found.store) {
    return "journal.mark belongs to another journal: one of the two was replaced";
  }
  if (mark->commits > found.commits) {
    std::string lost = absl::StrCat("commits ", Range(found.commits + 1, mark->commits),
                                    ", which were acknowledged, are missing");
    if (mark->sequence > found.sequence) {
      absl::StrAppend(&lost, ", with records ", Range(found.sequence + 1, mark->sequence));
    }
    if (mark->experiment > found.experiment) {
      absl::StrAppend(&lost, " and experiments ", Range(found.experiment + 1, mark->experiment));
    }
    return lost;
  }
  if (mark->commits == found.commits && *mark != found) {
    return OtherCopy(found.sequence);
  }
  return "";
}

std::vector<std::string> WrongOf(const JournalReport& report) {
  std::vector<std::string> wrong = report.damage;
  if (!report.missing.empty()) wrong.insert(wrong.begin(), report.missing);
  return wrong;
}

std::string Refusal(const std::string& path, const std::vector<std::string>& wrong) {
  return absl::StrCat(path, " is damaged or incomplete: ", absl::StrJoin(wrong, "; "),
                      ". Restore the state folder from a backup, or start once with --accept-loss: "
                      "it continues with the undamaged part and keeps the damaged files aside");
}

absl::StatusOr<JournalReport> CheckJournal(const std::string& path, uint64_t bytes_max) {
  JournalReport report;
  const std::optional<HighWaterMark> mark = ReadMark(MarkPathOf(path));
  report.marked = mark.has_value();
  std::error_code error;
  const uint64_t bytes = fs::file_size(path, error);
  if (error) {
    if (mark)
      report.damage.push_back("the file is missing, and journal.mark says that there was one");
    return report;
  }
  const auto told = [&](const absl::Status& status) -> absl::StatusOr<JournalReport> {
    if (!absl::IsDataLoss(status)) return status;
    report.damage.push_back(std::string(status.message()));
    return report;
  };
  DT_ASSIGN_OR_RETURN(report.damage, WrongInHeader(path));
  if (!report.damage.empty()) {  // SQLite would take it for another program's file
    report.schema = kSchemaVersion;
    return report;
  }
  auto database = Database::Open(path, Access::kOffline);
  if (!database.ok()) return told(database.status());
  FileCheck check(*database, report);
  if (absl::Status known = Identify(*database, path, report); !known.ok()) return told(known);
  if (report.schema == 0) return report;
  const auto in_use = database->QueryInteger("SELECT flag FROM in_use");
  if (!in_use.ok()) return told(in_use.status());
  report.in_use = *in_use != 0;
  const bool everything = report.in_use || bytes <= bytes_max;
  if (everything) check.Structure();
  if (report.schema == 1) {
    if (mark)
      report.missing = "journal.mark belongs to another journal: one of the two was replaced";
    return report;
  }
  check.Schema();
  const auto head = ReadHead(*database);
  if (!head.ok()) return told(head.status());
  report.head = *head;
  report.missing = MissingOf(*head, mark);
  if (report.missing.empty() && mark && mark->sequence > 0) {
    const auto hash = database->QueryText(
        absl::StrCat("SELECT hash FROM journal WHERE sequence = ", mark->sequence));
    if (hash.ok() && *hash != mark->hash) report.missing = OtherCopy(mark->sequence);
  }
  if (everything) check.Chain();
  for (size_t side = 0; side < kSides; ++side) {
    if (everything || kSideTables[side].always) check.Side(side);
  }
  if (everything) check.Snapshots();
  return report;
}

}  // namespace dt
