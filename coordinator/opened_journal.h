// opened_journal.h: the journal that a coordinator writes to, wherever it is kept, and how the rest
// of the process reads it beside the writer.
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
  std::function<absl::StatusOr<std::unique_ptr<Reader>>()> open_reader;
  std::function<absl::StatusOr<std::unique_ptr<JournalReader>>()> open_journal;
  std::function<absl::StatusOr<AccessStore>()> open_access;
  std::vector<std::string> losses;  // which --accept-loss accepted
  // Says at the address that this one takes over, until the server that serves it starts.
  std::unique_ptr<StandbyServer> waiting;
};

// In the state folder, in SQLite. Logs what a check found.
enum class AcceptLoss { kNo, kYes };
absl::StatusOr<OpenedJournal> OpenFileJournal(const std::string& state_dir, AcceptLoss accept_loss);
// In PostgreSQL, for the coordinator that leads.
OpenedJournal OfDatabase(std::unique_ptr<PostgresStore> store, const std::string& conninfo);

}  // namespace dt
