// sql_journal.h: the journal's records and snapshots, read beside the writer.
//
// Ownership: a connection of its own, which only reads.
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

// The journal that SqliteStore::Open made in `directory`.
absl::StatusOr<std::unique_ptr<JournalReader>> OpenSqliteJournal(const std::string& directory);

// The file at `path`, which nobody else has open. Nothing is written, nor made beside it.
absl::StatusOr<std::unique_ptr<JournalReader>> OpenSqliteJournalOffline(const std::string& path);

}  // namespace dt
