#include "coordinator/store/check_tables.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/limits.h"
#include "common/status.h"
#include "coordinator/store/journal.h"

namespace dt {
namespace {

constexpr size_t kNamesTold = 8;  // names of experiments or trials in one line

std::string Listed(const std::set<std::string>& names) {
  std::vector<std::string> some(names.begin(), names.end());
  const size_t all = some.size();
  if (all > kNamesTold) some.resize(kNamesTold);
  return absl::StrCat(absl::StrJoin(some, ", "),
                      all > kNamesTold ? absl::StrCat(" and ", all - kNamesTold, " more") : "");
}

}  // namespace

std::string Range(int64_t first, int64_t last) {
  return first == last ? absl::StrCat(first) : absl::StrCat(first, " to ", last);
}

std::string ExperimentsBehind(Connection& database, int64_t sequence) {
  auto query = Statement::Prepare(
      database, "SELECT record FROM journal WHERE sequence > ? ORDER BY sequence");
  if (!query.ok()) return "";
  query->Bind(1, sequence);
  std::set<std::string> experiments;
  v1::Record record;
  for (auto row = query->Step(); row.ok() && *row; row = query->Step()) {
    const std::string_view blob = query->Blob(0);
    if (!record.ParseFromArray(blob.data(), static_cast<int>(blob.size()))) continue;
    const auto* fact = record.GetReflection()->GetOneofFieldDescriptor(
        record, v1::Record::descriptor()->oneof_decl(0));
    if (fact == nullptr) continue;
    const auto& message = record.GetReflection()->GetMessage(record, fact);
    const auto* field = fact->message_type()->FindFieldByName("experiment");
    if (field == nullptr) continue;
    experiments.insert(absl::StrCat(message.GetReflection()->GetUInt64(message, field)));
  }
  return experiments.empty() ? ""
                             : absl::StrCat("; they are about experiments ", Listed(experiments));
}

void TableCheck::Chain() {
  Note([&]() -> absl::Status {
    DT_ASSIGN_OR_RETURN(const int64_t first,
                        database_.QueryInteger("SELECT coalesce(min(sequence), 0) FROM journal"));
    JournalPlace place;
    // Rows before a snapshot may have been dropped, perhaps all of them; the chain then begins at
    // the oldest undamaged snapshot.
    for (int64_t below = std::numeric_limits<int64_t>::max(); first != 1;) {
      DT_ASSIGN_OR_RETURN(const StoredSnapshot snapshot, ReadSnapshotBelow(database_, below));
      if (snapshot.place.sequence == 0) break;
      place = snapshot.place;
      below = snapshot.place.sequence;
    }
    const absl::Status read = ReadRows(database_, place, [&](const JournalRow&) {
      ++report_.records;
      return absl::OkStatus();
    });
    const StoreHead& head = *report_.head;
    if (!read.ok()) {
      Tell(absl::StrCat(read.message(), "; records ", Range(place.sequence + 1, head.mark.sequence),
                        " cannot be trusted", ExperimentsBehind(database_, place.sequence)));
    } else if (place.sequence != head.mark.sequence || place.hash != head.mark.hash) {
      Tell(absl::StrCat("the journal ends with record ", place.sequence, " and should end with ",
                        head.mark.sequence));
    }
    return absl::OkStatus();
  });
}

void TableCheck::Side(size_t number) {
  const SideTable& table = kSideTables[number];
  Note([&]() -> absl::Status {
    DT_ASSIGN_OR_RETURN(
        Statement query,
        Statement::Prepare(database_, absl::StrCat("SELECT ", table.columns, ", checksum FROM ",
                                                   table.name, scan_)));
    int64_t damaged = 0;
    uint64_t sum = 0;
    std::set<std::string> of;
    while (true) {
      DT_ASSIGN_OR_RETURN(const bool found, query.Step());
      if (!found) break;
      ++report_.rows[number];
      sum += static_cast<uint64_t>(query.Integer(table.count));
      if (query.Integer(table.count) == query.ChecksumOf(0, table.count)) continue;
      ++damaged;
      if (table.count >= 4 && number != kAcks) {
        of.insert(absl::StrCat(query.Integer(0), "/", query.Integer(1)));
      }
    }
    if (damaged > 0) {
      Tell(absl::StrCat(damaged, " of ", report_.rows[number], " rows of '", table.name,
                        "' are damaged", of.empty() ? "" : ", of trials ", Listed(of)));
    } else if (sum != report_.head->sums[number]) {
      Tell(absl::StrCat("rows of '", table.name, "' are missing, or appear twice"));
    }
    return absl::OkStatus();
  });
}

void TableCheck::Snapshots() {
  Note([&]() -> absl::Status {
    int64_t whole = 0;
    for (int64_t below = std::numeric_limits<int64_t>::max();; ++whole) {
      DT_ASSIGN_OR_RETURN(const StoredSnapshot snapshot, ReadSnapshotBelow(database_, below));
      if (snapshot.place.sequence == 0) break;
      below = snapshot.place.sequence;
    }
    DT_ASSIGN_OR_RETURN(const int64_t all,
                        database_.QueryInteger("SELECT count(*) FROM snapshots"));
    if (all != whole) {
      report_.spare.push_back(absl::StrCat(all - whole, " of ", all, " snapshots are damaged"));
    }
    return absl::OkStatus();
  });
}

void TableCheck::Tell(std::string line) {
  if (report_.damage.size() < limits::kDamagesTold) report_.damage.push_back(std::move(line));
}

void TableCheck::Note(const std::function<absl::Status()>& look) {
  if (const absl::Status status = look(); !status.ok()) Tell(std::string(status.message()));
}

absl::StatusOr<JournalReport> CheckTables(Connection& database, Thoroughness thoroughness) {
  JournalReport report;
  report.schema = kSchemaVersion;
  TableCheck check(database, report, "");
  const auto head = ReadHead(database);
  if (!head.ok()) {
    if (!absl::IsDataLoss(head.status())) return head.status();
    check.Tell(std::string(head.status().message()));
    return report;
  }
  report.head = *head;
  DT_ASSIGN_OR_RETURN(const int64_t in_use, database.QueryInteger("SELECT flag FROM in_use"));
  report.in_use = in_use != 0;
  const bool everything = thoroughness == Thoroughness::kEverything;
  if (everything) check.Chain();
  for (size_t side = 0; side < kSides; ++side) {
    if (everything || kSideTables[side].always) check.Side(side);
  }
  if (everything) check.Snapshots();
  return report;
}

}  // namespace dt
