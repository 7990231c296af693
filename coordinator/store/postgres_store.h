// postgres_store.h: the journal and its side tables in PostgreSQL, for several coordinators of
// which one leads.
//
// Role:      Store over the connection that holds the lock of leadership (candidate.h).
// Ownership: owns the connection, and a thread that sends a heartbeat through it every second.
//            Journals are read through their own connections.
// Threads:   as Store; LeadIsCertain: any.
// Errors:    after any failure, also a lost connection, the store cannot be used. Aborted: another
//            process leads.
// Invariant: each transaction locks the row with the term and checks that it is this leader's. The
//            next leader first raises the term, so a deposed leader can never commit.
// Tests:     tests/coordinator/store/store_test.cc, postgres_test.cc
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "coordinator/store/postgres.h"
#include "coordinator/store/sql_store.h"

namespace dt {

struct LeadOptions {
  std::string conninfo;
  std::string version;  // this build's
  std::string self;     // name of this process
  // Called at most once, from a thread of the store: another process leads, or the connection is
  // lost.
  std::function<void(const absl::Status&)> lost;
};

class PostgresStore final : public SqlStore {
 public:
  // Begins a term. Creates the tables if there are none. `lock` is the state directory's.
  static absl::StatusOr<std::unique_ptr<PostgresStore>> Lead(DirectoryLock lock,
                                                             std::unique_ptr<Postgres> connection,
                                                             LeadOptions options);
  ~PostgresStore() override;

  absl::Status Replay(JournalPlace& place,
                      const std::function<absl::Status(const v1::Record&)>& visit) override;
  absl::StatusOr<StoredSnapshot> ReadSnapshot(int64_t below) override;
  absl::StatusOr<std::vector<AckToStore>> ReadAcks() override;
  absl::StatusOr<uint64_t> ReadNewestStep(const AttemptId& attempt) override;
  // Lets another process lead at once.
  absl::Status Close() override;
  absl::Status ConfirmLead() override;
  bool LeadIsCertain() const override;

  int64_t term() const { return term_; }

 private:
  PostgresStore(DirectoryLock lock, const std::string& name, std::unique_ptr<Postgres> connection,
                LeadOptions options)
      : SqlStore(std::move(lock), name, std::move(connection)), options_(std::move(options)) {}

  absl::Status MakeTables();
  absl::Status BeginTerm();
  absl::Status CheckSmallTables();
  absl::Status CommitOnce(const std::function<absl::Status()>& write) override;
  absl::Status BeginTransaction() override;
  absl::Status EndTransaction() override { return Sql().Execute("COMMIT"); }
  void RollBack() override { Sql().Execute("ROLLBACK").IgnoreError(); }
  absl::Status Promise() override { return absl::OkStatus(); }
  std::string Refused(const std::string& damage) const override;
  // Returns OK while the term that `query` finds is this process's.
  absl::Status CheckTerm(const std::string& query);
  void Beat();
  void StopBeating();

  const LeadOptions options_;
  // Steady time in nanoseconds at which the last answered statement was sent.
  std::atomic<int64_t> heard_ns_{0};
  int64_t term_ = 0;
  Mutex busy_;  // held while the connection is in use
  Mutex stop_mutex_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(stop_mutex_) = false;
  std::thread beat_;
};

// Opens the journal's records and snapshots as of now, to read beside the leader.
absl::StatusOr<std::unique_ptr<JournalReader>> OpenPostgresJournal(const std::string& conninfo);
// Opens metric history and logs; reconnects if the connection was lost.
absl::StatusOr<std::unique_ptr<StoreReader>> OpenPostgresReader(const std::string& conninfo);

}  // namespace dt
