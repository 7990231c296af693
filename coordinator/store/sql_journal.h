// sql_journal.h: reads the journal's records and snapshots beside the writer.
//
// Ownership: owns its connection, which only reads.
// Threads:   one at a time.
// Tests:     tests/coordinator/loop/restore_test.cc
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "coordinator/store/sql.h"
#include "coordinator/store/store.h"

namespace dt {

class SqlJournal final : public JournalReader {
 public:
  explicit SqlJournal(std::unique_ptr<Connection> connection)
      : connection_(std::move(connection)) {}

  absl::Status Replay(JournalPlace& place,
                      const std::function<absl::Status(const v1::Record&)>& visit) override;
  absl::StatusOr<StoredSnapshot> ReadSnapshot(int64_t below) override;

 private:
  const std::unique_ptr<Connection> connection_;
};

// Opens the journal that SqliteStore::Open created in `directory`.
absl::StatusOr<std::unique_ptr<JournalReader>> OpenSqliteJournal(const std::string& directory);

// Opens the file at `path`, which no other process has open. Writes nothing and creates no file
// beside it.
absl::StatusOr<std::unique_ptr<JournalReader>> OpenSqliteJournalOffline(const std::string& path);

}  // namespace dt
