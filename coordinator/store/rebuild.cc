// rebuild.cc: copies records, side rows and snapshots, then swaps the files.
#include "coordinator/store/rebuild.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/files.h"
#include "common/status.h"
#include "coordinator/store/check.h"
#include "coordinator/store/head.h"
#include "coordinator/store/header.h"
#include "coordinator/store/journal.h"
#include "coordinator/store/mark.h"
#include "coordinator/store/schema.h"
#include "coordinator/store/sqlite.h"

namespace dt {
namespace {

namespace fs = std::filesystem;

class Copy {
 public:
  // `experiment` is the newest promised number.
  Copy(Database& from, Database& to, int64_t schema, int64_t experiment)
      : from_(from), to_(to), schema_(schema) {
    head_.mark.experiment = experiment;
  }

  absl::Status Run() {
    DT_RETURN_IF_ERROR(to_.Execute(absl::StrCat("PRAGMA page_size = ", kDatabasePageBytes,
                                                "; PRAGMA journal_mode = OFF; BEGIN IMMEDIATE;",
                                                kSchema, "PRAGMA application_id = ", kApplicationId,
                                                "; PRAGMA user_version = ", kSchemaVersion)));
    DT_ASSIGN_OR_RETURN(insert_, Statement::Prepare(to_, "INSERT INTO journal VALUES (?,?,?,?,?)"));
    DT_RETURN_IF_ERROR(schema_ == 1 ? CopyOldRecords() : CopyRecords());
    for (size_t side = 0; side < kSides; ++side) DT_RETURN_IF_ERROR(CopySide(side));
    DT_RETURN_IF_ERROR(CopyWriters());
    head_.mark.sequence = place_.sequence;
    head_.mark.hash = place_.hash;
    DT_ASSIGN_OR_RETURN(HeadWriter writer, HeadWriter::Prepare(to_));
    DT_RETURN_IF_ERROR(writer.Write(head_));
    return to_.Execute("COMMIT");
  }

  std::vector<std::string>& dropped() { return dropped_; }

 private:
  // Keeps numbers of experiments from being used twice, whatever is lost.
  void NoteExperiment(int64_t experiment) {
    head_.mark.experiment = std::max(head_.mark.experiment, experiment);
  }

  absl::Status Keep(const JournalRow& row, std::string hash) {
    insert_.Bind(1, row.sequence).Bind(2, row.kind).Bind(3, row.version).BindBlob(4, row.record);
    DT_RETURN_IF_ERROR(insert_.BindText(5, hash).Run());
    v1::Record record;
    if (row.kind == v1::Record::kExperimentSubmitted &&
        record.ParseFromArray(row.record.data(), static_cast<int>(row.record.size()))) {
      NoteExperiment(static_cast<int64_t>(record.experiment_submitted().experiment()));
    }
    place_ = {row.sequence, std::move(hash)};
    return absl::OkStatus();
  }

  // Copies the rows that follow `place_`. Returns only errors of the new file.
  absl::Status CopyChain() {
    absl::Status written;
    JournalPlace place = place_;
    const absl::Status read = ReadRows(from_, place, [&](const JournalRow& row) {
      written = Keep(row, HashAfter(place_.hash, row));
      return written;
    });
    if (!read.ok() && written.ok()) why_ = std::string(read.message());
    return written;
  }

  absl::Status CopyRecords() {
    if (const auto head = ReadHead(from_); head.ok()) {
      should_end_ = head->mark.sequence;
      NoteExperiment(head->mark.experiment);
    }
    std::vector<StoredSnapshot> snapshots;
    for (int64_t below = std::numeric_limits<int64_t>::max();;) {
      const auto snapshot = ReadSnapshotBelow(from_, below);
      if (!snapshot.ok() || snapshot->place.sequence == 0) break;
      below = snapshot->place.sequence;
      snapshots.push_back(*snapshot);
    }
    // Rows that a snapshot covers may have been dropped.
    const auto first = from_.QueryInteger("SELECT coalesce(min(sequence), 0) FROM journal");
    if (first.ok() && *first != 1 && !snapshots.empty()) {
      place_ = snapshots.back().place;
    }
    DT_RETURN_IF_ERROR(CopyChain());
    if (!snapshots.empty() && snapshots.front().place.sequence > place_.sequence) {
      DT_RETURN_IF_ERROR(to_.Execute("DELETE FROM journal"));
      place_ = snapshots.front().place;
      DT_RETURN_IF_ERROR(CopyChain());
      snapshots.resize(1);
    }
    for (const StoredSnapshot& snapshot : snapshots) {
      DT_RETURN_IF_ERROR(WriteSnapshot(to_, snapshot));
    }
    if (place_.sequence < should_end_ || !why_.empty()) {
      dropped_.push_back(
          absl::StrCat("records after ", place_.sequence,
                       should_end_ > place_.sequence ? absl::StrCat(", up to ", should_end_) : "",
                       why_.empty() ? "" : absl::StrCat(" (", why_, ")"),
                       ExperimentsBehind(from_, place_.sequence)));
    }
    return absl::OkStatus();
  }

  // Version 0.1.0 has no hashes, so all readable rows are accepted.
  absl::Status CopyOldRecords() {
    auto query = Statement::Prepare(
        from_, "SELECT sequence, kind, version, record FROM journal ORDER BY sequence");
    auto found = query.ok() ? query->Step() : absl::StatusOr<bool>(query.status());
    for (; found.ok() && *found; found = query->Step()) {
      const JournalRow row{query->Integer(0), query->Integer(1), query->Integer(2), query->Blob(3)};
      if (row.sequence != place_.sequence + 1) {
        found = absl::DataLossError(absl::StrCat("row ", place_.sequence + 1, " is missing"));
        break;
      }
      DT_RETURN_IF_ERROR(Keep(row, HashAfter(place_.hash, row)));
    }
    if (!found.ok()) {
      dropped_.push_back(
          absl::StrCat("records after ", place_.sequence, " (", found.status().message(), ")"));
    }
    return absl::OkStatus();
  }

  // The result of one scan; counts the copied rows.
  struct Scan {
    int64_t kept = 0;
    int64_t damaged = 0;
    std::optional<int64_t> last;  // key of the newest row seen
    bool ended = false;           // reached the end, not stopped by damage
  };
  absl::StatusOr<Scan> CopyRows(size_t side, const std::string& order, Statement& insert,
                                std::optional<int64_t> until) {
    const SideTable& table = kSideTables[side];
    Scan scan;
    auto query = Statement::Prepare(
        from_, absl::StrCat("SELECT ", table.columns, ", ", schema_ == 1 ? "0" : "checksum", ", ",
                            table.order, " FROM ", table.name, " NOT INDEXED ORDER BY ", order));
    if (!query.ok()) return scan;
    while (true) {
      const auto found = query->Step();
      if (!found.ok() || !*found) {
        scan.ended = found.ok();
        return scan;
      }
      const int64_t key = query->Integer(table.count + 1);
      if (until && key <= *until) return scan;
      scan.last = key;
      const int64_t checksum = query->ChecksumOf(0, table.count);
      if (schema_ != 1 && checksum != query->Integer(table.count)) {
        ++scan.damaged;
        continue;
      }
      for (int column = 0; column < table.count; ++column) {
        insert.BindColumn(column + 1, *query, column);
      }
      DT_RETURN_IF_ERROR(insert.Bind(table.count + 1, checksum).Run());
      if (to_.ChangedRows() == 0) {  // the key already exists
        ++scan.damaged;
        continue;
      }
      head_.AddRow(static_cast<Side>(side), checksum);
      ++scan.kept;
    }
  }

  absl::Status CopySide(size_t side) {
    const SideTable& table = kSideTables[side];
    std::string places = "?";
    for (int column = 0; column < table.count; ++column) places += ",?";
    DT_ASSIGN_OR_RETURN(
        Statement insert,
        Statement::Prepare(to_, absl::StrCat("INSERT OR IGNORE INTO ", table.name, " (",
                                             table.columns, ", checksum) VALUES (", places, ")")));
    DT_ASSIGN_OR_RETURN(Scan scan, CopyRows(side, table.order, insert, std::nullopt));
    if (!scan.ended && std::string_view(table.order) == "id") {
      // Reads the rows behind a damaged page, from the end.
      DT_ASSIGN_OR_RETURN(const Scan back,
                          CopyRows(side, "id DESC", insert, scan.last.value_or(0)));
      scan.kept += back.kept;
      scan.damaged += back.damaged;
    }
    if (scan.damaged > 0 || !scan.ended) {
      dropped_.push_back(absl::StrCat("rows of '", table.name, "': ", scan.damaged, " damaged",
                                      scan.ended ? "" : ", others unreachable", "; ", scan.kept,
                                      " kept"));
    }
    return absl::OkStatus();
  }

  absl::Status CopyWriters() {
    DT_ASSIGN_OR_RETURN(Statement insert,
                        Statement::Prepare(to_, "INSERT OR IGNORE INTO writers VALUES (?, ?)"));
    auto query = Statement::Prepare(from_, "SELECT first_sequence, version FROM writers");
    if (!query.ok()) return absl::OkStatus();
    for (auto found = query->Step(); found.ok() && *found; found = query->Step()) {
      DT_RETURN_IF_ERROR(insert.BindColumn(1, *query, 0).BindColumn(2, *query, 1).Run());
    }
    return absl::OkStatus();
  }

  Database& from_;
  Database& to_;
  const int64_t schema_;
  Statement insert_;
  StoreHead head_ = NewHead();
  JournalPlace place_;
  int64_t should_end_ = 0;
  std::string why_;  // why the records end early
  std::vector<std::string> dropped_;
};

std::string MendedPathOf(const std::string& path) { return path + ".mended"; }

absl::Status RemoveMended(const std::string& path) {
  DT_RETURN_IF_ERROR(RemoveAll(MendedPathOf(path) + "-wal"));
  return RemoveAll(MendedPathOf(path));
}

bool Exists(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// Returns the file to read. If the header is damaged, SQLite cannot read the rest; this is then a
// copy with a mended header. The original stays unchanged.
absl::StatusOr<std::string> MakeReadable(const std::string& path) {
  DT_RETURN_IF_ERROR(RemoveMended(path));
  DT_ASSIGN_OR_RETURN(const std::string header, RestoredHeader(path));
  if (header.empty()) return path;
  const std::string mended = MendedPathOf(path);
  for (const char* beside : {"", "-wal"}) {
    std::error_code error;
    if (!Exists(path + beside)) continue;
    fs::copy_file(path + beside, mended + beside, error);
    if (error) {
      return absl::UnavailableError(absl::StrCat("cannot copy ", path, beside, " to ", mended,
                                                 beside, ": ", error.message()));
    }
  }
  std::error_code code;  // then the size is that of no file
  DT_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Reopen(mended, fs::file_size(mended, code)));
  DT_RETURN_IF_ERROR(file.WriteAt(0, header.data(), header.size()));
  DT_RETURN_IF_ERROR(file.SyncAndClose());
  return mended;
}

absl::Status SyncFile(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd.valid() || fsync(fd.get()) != 0) return SystemError("sync", path);
  return absl::OkStatus();
}

// Links the files of the journal into a new folder, which is left unchanged later.
absl::StatusOr<std::string> KeepAside(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  fs::path aside;
  for (int number = 1; aside.empty() || Exists(aside); ++number) {
    aside = folder / absl::StrCat("damaged-", number);
  }
  DT_RETURN_IF_ERROR(MakeFolders(aside));
  for (const std::string& file : {path, path + "-wal", MarkPathOf(path)}) {
    std::error_code error;
    if (!Exists(file)) continue;
    fs::create_hard_link(file, aside / fs::path(file).filename(), error);
    // The mark is later written in place, and some file systems have no links.
    if (error || file == MarkPathOf(path)) {
      fs::remove(aside / fs::path(file).filename(), error);
      fs::copy_file(file, aside / fs::path(file).filename(), error);
    }
    if (error) {
      return absl::UnavailableError(
          absl::StrCat("cannot keep ", file, " in ", aside.string(), ": ", error.message()));
    }
  }
  DT_RETURN_IF_ERROR(SyncFolder(aside));
  DT_RETURN_IF_ERROR(SyncFolder(folder));
  return aside.string();
}

// A file of this name is the complete new journal, ready to replace the old one.
std::string RebuiltPathOf(const std::string& path) { return path + ".rebuilt"; }

}  // namespace

absl::StatusOr<std::vector<std::string>> RebuildJournal(const std::string& path, OldFiles aside) {
  const std::string draft = path + ".new";
  DT_RETURN_IF_ERROR(RemoveAll(draft));
  if (!Exists(path)) {  // a missing file has nothing to keep
    DT_ASSIGN_OR_RETURN(OutputFile empty, OutputFile::Create(path));
    DT_RETURN_IF_ERROR(empty.SyncAndClose());
  }
  std::vector<std::string> dropped;
  {
    DT_ASSIGN_OR_RETURN(Database to, Database::Open(draft, Access::kReadWrite));
    DT_ASSIGN_OR_RETURN(const std::string readable, MakeReadable(path));
    DT_ASSIGN_OR_RETURN(Database from, Database::Open(readable, Access::kOffline));
    const auto schema = from.QueryInteger("PRAGMA user_version");
    const std::optional<HighWaterMark> promised = ReadMark(MarkPathOf(path));
    Copy copy(from, to, schema.value_or(kSchemaVersion), promised ? promised->experiment : 0);
    DT_RETURN_IF_ERROR(copy.Run());
    dropped = std::move(copy.dropped());
  }
  DT_RETURN_IF_ERROR(RemoveMended(path));
  if (aside == OldFiles::kDrop && !dropped.empty()) {
    return absl::DataLossError(Refusal(path, dropped));
  }
  DT_RETURN_IF_ERROR(SyncFile(draft));
  if (aside == OldFiles::kKeep) {
    DT_ASSIGN_OR_RETURN(const std::string folder, KeepAside(path));
    dropped.push_back(absl::StrCat("the damaged files are in ", folder));
  }
  DT_RETURN_IF_ERROR(Rename(draft, RebuiltPathOf(path)));
  DT_RETURN_IF_ERROR(SyncFolder(fs::path(path).parent_path()));
  DT_RETURN_IF_ERROR(TakeUpRebuilt(path));
  return dropped;
}

absl::Status TakeUpRebuilt(const std::string& path) {
  std::error_code error;
  if (!fs::exists(RebuiltPathOf(path), error)) return absl::OkStatus();
  // Removes the log first. The old file without its log does not fit its mark; beside the new file,
  // SQLite would take the log for the new file's.
  for (const char* beside : {"-wal", "-shm"}) DT_RETURN_IF_ERROR(RemoveAll(path + beside));
  DT_RETURN_IF_ERROR(RemoveAll(MarkPathOf(path)));
  DT_RETURN_IF_ERROR(Rename(RebuiltPathOf(path), path));
  return SyncFolder(fs::path(path).parent_path());
}

}  // namespace dt
