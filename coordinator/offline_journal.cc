#include "coordinator/offline_journal.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "coordinator/loop/restore.h"
#include "coordinator/store/sql_journal.h"

namespace dt {

namespace fs = std::filesystem;

std::string JournalPathOf(const std::string& place) {
  std::error_code error;
  return fs::is_directory(place, error) ? (fs::path(place) / "journal.db").string() : place;
}

std::string ContentsOf(const JournalReport& report) {
  if (report.schema == 1) return "of version 0.1.0, whose records have no hashes yet";
  if (report.schema == 0) return "no records";
  if (!report.head) return "cannot be read";
  std::string text = absl::StrCat(report.records, " records");
  for (size_t side = 0; side < kSides; ++side) {
    if (side == kDeleting) continue;
    absl::StrAppend(&text, ", ", report.rows[side], " rows of '", kSideTables[side].name, "'");
  }
  return absl::StrCat(text, "; ", report.head->mark.commits, " commits");
}

absl::StatusOr<std::vector<std::string>> MissingCode(const std::string& path,
                                                     const std::string& folder) {
  DT_ASSIGN_OR_RETURN(const auto journal, OpenSqliteJournalOffline(path));
  MetricsModel uncounted(1);
  DT_ASSIGN_OR_RETURN(const Folded folded, FoldJournal(*journal, uncounted, [] {}));
  std::vector<std::string> missing;
  for (const auto& [id, experiment] : folded.state.durable.experiments) {
    if (!experiment.spec.has_code()) continue;
    std::error_code error;
    const std::string& digest = experiment.spec.code().digest();
    if (fs::exists(fs::path(folder) / digest, error)) continue;
    missing.push_back(absl::StrCat("the packed code ", digest, " of experiment ", id, " is not in ",
                                   folder, ": its trials cannot start"));
  }
  return missing;
}

}  // namespace dt
