// opened_journal.h: the journal that a coordinator writes to, in a file or a database, and the
// readers of the rest of the process beside the writer.
//
// Errors: those of the store.
// Tests:  tests/coordinator/dtcoord_test.cc, tests/e2e/standby_test.cc
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/door/access_store.h"
#include "coordinator/rpc/standby_server.h"
#include "coordinator/store/postgres_store.h"
#include "coordinator/store/sql_store.h"

namespace dt {

struct OpenedJournal {
  std::unique_ptr<SqlStore> store;
  std::function<absl::StatusOr<std::unique_ptr<StoreReader>>()> open_reader;
  std::function<absl::StatusOr<std::unique_ptr<JournalReader>>()> open_journal;
  std::function<absl::StatusOr<AccessStore>()> open_access;
  std::vector<std::string> losses;  // accepted by --accept-loss
  // Answers at the address that this process takes over, until its real server starts.
  std::unique_ptr<StandbyServer> waiting;
};

// Opens the journal in the state folder, in SQLite. Logs the findings of its check.
enum class AcceptLoss { kNo, kYes };
absl::StatusOr<OpenedJournal> OpenFileJournal(const std::string& state_dir, AcceptLoss accept_loss);
// Returns the journal in PostgreSQL, for the coordinator that leads.
OpenedJournal OfDatabase(std::unique_ptr<PostgresStore> store, const std::string& conninfo);

}  // namespace dt
