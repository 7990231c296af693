#include "coordinator/opened_journal.h"

#include <utility>

#include "common/status.h"
#include "common/version.h"
#include "coordinator/store/sql_journal.h"
#include "coordinator/store/sql_reader.h"
#include "coordinator/store/sqlite_store.h"
#include "spdlog/spdlog.h"

namespace dt {

absl::StatusOr<OpenedJournal> OpenFileJournal(const std::string& state_dir,
                                              AcceptLoss accept_loss) {
  DT_ASSIGN_OR_RETURN(auto store,
                      SqliteStore::Open(state_dir, kVersion,
                                        accept_loss == AcceptLoss::kYes ? DataLossPolicy::kGoOn
                                                                        : DataLossPolicy::kRefuse));
  OpenedJournal opened;
  opened.losses = store->losses();
  for (const std::string& loss : opened.losses) {
    spdlog::error("{}, loss accepted: {}", store->place(), loss);
  }
  if (store->stopped_uncleanly() && opened.losses.empty()) {
    spdlog::warn(
        "the last stop was not clean; {} was checked: it is undamaged and has all acknowledged "
        "data",
        store->place());
  }
  opened.store = std::move(store);
  opened.open_reader = [state_dir] { return OpenSqliteReader(state_dir); };
  opened.open_journal = [state_dir] { return OpenSqliteJournal(state_dir); };
  opened.open_access = [state_dir] { return AccessStore::Open(state_dir); };
  return opened;
}

OpenedJournal OfDatabase(std::unique_ptr<PostgresStore> store, const std::string& conninfo) {
  OpenedJournal opened;
  opened.store = std::move(store);
  opened.open_reader = [conninfo] { return OpenPostgresReader(conninfo); };
  opened.open_journal = [conninfo] { return OpenPostgresJournal(conninfo); };
  opened.open_access = [conninfo] { return AccessStore::OpenPostgres(conninfo); };
  return opened;
}

}  // namespace dt
