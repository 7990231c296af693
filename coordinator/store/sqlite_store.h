// sqlite_store.h: the journal and its side tables in one SQLite file.
//
// Role:      a Store in SQLite: WAL, synchronous=FULL, one transaction for each batch; then the
//            mark beside it.
// Ownership: holds the state directory's lock from Open to destruction.
// Threads:   one at a time.
// Errors:    Open: FailedPrecondition names another coordinator that holds the directory, or the
//            newer version of the file. DataLoss describes damage or missing acknowledged data, and
//            the possible ways on.
// Invariant: the next Open finds every commit that was acknowledged, or reports that it is missing.
// Tests:     tests/coordinator/store/store_test.cc, sqlite_store_test.cc, damage_test.cc
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/store/directory_lock.h"
#include "coordinator/store/mark.h"
#include "coordinator/store/sql_store.h"
#include "coordinator/store/sqlite.h"
#include "coordinator/store/wal_keeper.h"

namespace dt {

// The reaction of a start to a journal that is damaged or lacks acknowledged data.
enum class DataLossPolicy {
  kRefuse,
  kGoOn,  // continues with the undamaged part; the damaged files are kept aside
};

class SqliteStore final : public SqlStore {
 public:
  // Creates `directory` (mode 0700) and the journal in it if they do not exist. `version` is this
  // build's, recorded as the writer from here on.
  static absl::StatusOr<std::unique_ptr<SqliteStore>> Open(
      const std::string& directory, const std::string& version,
      DataLossPolicy on_loss = DataLossPolicy::kRefuse);
  ~SqliteStore() override;

  // Folds the write-ahead log into the file and marks a clean stop. No call may follow.
  absl::Status Close() override;

  // Returns true if the last coordinator did not Close; Open then checked the complete file.
  bool stopped_uncleanly() const { return stopped_uncleanly_; }
  // Returns a line for each part that Open dropped with DataLossPolicy::kGoOn.
  const std::vector<std::string>& losses() const { return losses_; }

 private:
  // `sql` is `database`.
  SqliteStore(DirectoryLock lock, std::string path, Database& database,
              std::unique_ptr<Connection> sql)
      : SqlStore(std::move(lock), std::move(path), std::move(sql)), database_(database) {}

  absl::Status Prepare();
  absl::Status BeginTransaction() override { return begin_.Run(); }
  absl::Status EndTransaction() override { return commit_.Run(); }
  void RollBack() override { rollback_.Run().IgnoreError(); }
  absl::Status Promise() override;
  std::string Refused(const std::string& damage) const override;

  Database& database_;
  std::optional<MarkFile> mark_;
  std::vector<std::string> losses_;
  bool stopped_uncleanly_ = false;
  bool closed_ = false;
  Statement begin_, commit_, rollback_;
  int wal_pages_ = 0;  // after the newest commit
  std::unique_ptr<WalKeeper> keeper_;
};

}  // namespace dt
