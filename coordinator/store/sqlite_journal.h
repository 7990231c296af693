// sqlite_journal.h: the journal's records and snapshots, read beside the writer.
//
// Ownership: a read-only connection of its own.
// Threads:   one at a time.
// Tests:     tests/coordinator/loop/restore_test.cc
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "coordinator/store/sqlite.h"
#include "coordinator/store/store.h"

namespace dt {

class SqliteJournal final : public JournalReader {
 public:
  // Opens the journal that SqliteStore::Open made in `directory`.
  static absl::StatusOr<std::unique_ptr<JournalReader>> Open(const std::string& directory);

  // The file at `path`, which nobody else has open. Nothing is written, nor made beside it.
  static absl::StatusOr<std::unique_ptr<JournalReader>> OpenOffline(const std::string& path);

  absl::Status Replay(JournalPlace& place,
                      const std::function<absl::Status(const v1::Record&)>& visit) override;
  absl::StatusOr<StoredSnapshot> ReadSnapshot(int64_t below) override;

 private:
  explicit SqliteJournal(Database database) : database_(std::move(database)) {}
  Database database_;
};

}  // namespace dt
