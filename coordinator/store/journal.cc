// journal.cc: hashes rows, and reads records and snapshots with their hashes and checksums.
#include "coordinator/store/journal.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/sha256.h"
#include "common/status.h"
#include "coordinator/store/checksum.h"
#include "coordinator/store/schema.h"

namespace dt {
namespace {

bool KnownKind(int64_t kind) {
  const auto* field = v1::Record::descriptor()->FindFieldByNumber(static_cast<int>(kind));
  return field != nullptr && field->containing_oneof() != nullptr;
}

std::string WriterOf(Connection& database, int64_t sequence) {
  const auto version = database.QueryText(
      absl::StrCat("SELECT version FROM writers WHERE first_sequence <= ", sequence,
                   " ORDER BY first_sequence DESC LIMIT 1"));
  return version.ok() ? *version : "unknown";
}

int64_t ChecksumOf(const StoredSnapshot& snapshot) {
  return Checksum()
      .Add(snapshot.place.sequence)
      .Add(snapshot.place.hash)
      .Add(static_cast<int64_t>(snapshot.parts.size()))
      .Sum();
}

int64_t PartChecksum(int64_t sequence, size_t part, std::string_view content) {
  return Checksum().Add(sequence).Add(static_cast<int64_t>(part)).Add(content).Sum();
}

}  // namespace

std::string HashAfter(std::string_view before, const JournalRow& row) {
  Sha256 hash;
  hash.Update(before);
  const int64_t numbers[] = {row.sequence, row.kind, row.version};
  hash.Update(numbers, sizeof(numbers));
  hash.Update(row.record);
  std::string hex = hash.FinishHex();
  hex.resize(before.size());
  return hex;
}

absl::Status ReadRows(Connection& database, JournalPlace& place,
                      const std::function<absl::Status(const JournalRow&)>& visit) {
  DT_ASSIGN_OR_RETURN(
      Statement query,
      Statement::Prepare(database,
                         "SELECT sequence, kind, version, record, hash FROM journal "
                         "WHERE sequence > ? ORDER BY sequence"));
  query.Bind(1, place.sequence);
  while (true) {
    DT_ASSIGN_OR_RETURN(const bool found, query.Step());
    if (!found) return absl::OkStatus();
    const JournalRow row{query.Integer(0), query.Integer(1), query.Integer(2), query.Blob(3)};
    if (row.sequence != place.sequence + 1) {
      return absl::DataLossError(absl::StrCat("journal row ", place.sequence + 1, " is missing"));
    }
    std::string hash = HashAfter(place.hash, row);
    if (query.Blob(4) != hash) {
      return absl::DataLossError(absl::StrCat("journal row ", row.sequence,
                                              " is damaged: it does not follow from row ",
                                              place.sequence));
    }
    DT_RETURN_IF_ERROR(visit(row));
    place = {row.sequence, std::move(hash)};
  }
}

absl::Status ReadRecords(Connection& database, JournalPlace& place,
                         const std::function<absl::Status(const v1::Record&)>& visit) {
  v1::Record record;
  return ReadRows(database, place, [&](const JournalRow& row) -> absl::Status {
    if (row.version > kRecordVersion || !KnownKind(row.kind)) {
      return absl::FailedPreconditionError(
          absl::StrCat("journal row ", row.sequence, " is of kind ", row.kind, " version ",
                       row.version, ", written by dtrain ", WriterOf(database, row.sequence),
                       ", which this build does not know; run that version or a newer one"));
    }
    if (!record.ParseFromArray(row.record.data(), static_cast<int>(row.record.size())) ||
        KindOf(record) != row.kind) {
      return absl::DataLossError(absl::StrCat("journal row ", row.sequence, " cannot be read"));
    }
    return visit(record);
  });
}

absl::StatusOr<StoredSnapshot> ReadSnapshotBelow(Connection& database, int64_t below) {
  DT_ASSIGN_OR_RETURN(Statement heads,
                      Statement::Prepare(database,
                                         "SELECT sequence, hash, parts, checksum FROM snapshots "
                                         "WHERE sequence < ? ORDER BY sequence DESC"));
  DT_ASSIGN_OR_RETURN(Statement parts,
                      Statement::Prepare(database,
                                         "SELECT part, content, checksum FROM snapshot_parts "
                                         "WHERE sequence = ? ORDER BY part"));
  heads.Bind(1, below);
  for (int damaged = 0;; ++damaged) {
    StoredSnapshot snapshot;
    snapshot.damaged = damaged;
    auto found = heads.Step();
    if (!found.ok() || !*found) return snapshot;  // a damaged snapshot counts as absent
    snapshot.place.sequence = heads.Integer(0);
    snapshot.place.hash = heads.Text(1);
    parts.Bind(1, snapshot.place.sequence);
    bool whole = true;
    while (whole) {
      auto part = parts.Step();
      whole = part.ok();
      if (!whole || !*part) break;
      whole = parts.Integer(0) == static_cast<int64_t>(snapshot.parts.size()) &&
              parts.Integer(2) ==
                  PartChecksum(snapshot.place.sequence, snapshot.parts.size(), parts.Blob(1));
      snapshot.parts.push_back(parts.Text(1));
    }
    parts.Reset();
    whole = whole && heads.Integer(2) == static_cast<int64_t>(snapshot.parts.size()) &&
            heads.Integer(3) == ChecksumOf(snapshot);
    if (whole) return snapshot;
  }
}

absl::Status WriteSnapshot(Connection& database, const StoredSnapshot& snapshot) {
  DT_ASSIGN_OR_RETURN(
      Statement head,
      Statement::Prepare(database,
                         "INSERT INTO snapshots VALUES (?, ?, ?, ?) ON CONFLICT (sequence) DO "
                         "UPDATE SET hash = excluded.hash, parts = excluded.parts, checksum = "
                         "excluded.checksum"));
  DT_ASSIGN_OR_RETURN(
      Statement part,
      Statement::Prepare(database,
                         "INSERT INTO snapshot_parts VALUES (?, ?, ?, ?) ON CONFLICT (sequence, "
                         "part) DO UPDATE SET checksum = excluded.checksum, content = "
                         "excluded.content"));
  for (size_t i = 0; i < snapshot.parts.size(); ++i) {
    part.Bind(1, snapshot.place.sequence).Bind(2, static_cast<int64_t>(i));
    part.Bind(3, PartChecksum(snapshot.place.sequence, i, snapshot.parts[i]));
    DT_RETURN_IF_ERROR(part.BindBlob(4, snapshot.parts[i]).Run());
  }
  head.Bind(1, snapshot.place.sequence).BindText(2, snapshot.place.hash);
  head.Bind(3, static_cast<int64_t>(snapshot.parts.size())).Bind(4, ChecksumOf(snapshot));
  return head.Run();
}

}  // namespace dt
