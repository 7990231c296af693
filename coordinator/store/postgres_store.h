// postgres_store.h: the journal and its side tables in PostgreSQL, for coordinators of which one
// leads.
//
// Role:      Store over the connection that holds the lock of leadership (candidate.h).
// Ownership: the connection, and a thread that says through it every second that this process
//            lives. Journals are read through connections of their own.
// Threads:   as Store; LeadIsCertain: any.
// Errors:    any failure, a lost connection too, means the footing is lost. Aborted: another leads.
// Invariant: each transaction locks the row that has the term and finds this leader's in it; who
//            leads next raises it first. So nothing of a deposed leader is ever committed.
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
  std::string self;     // names this process
  // Called at most once, from a thread of the store's own: another leads, or the connection is
  // gone.
  std::function<void(const absl::Status&)> lost;
};

class PostgresStore final : public SqlStore {
 public:
  // Begins a term. Makes the tables where there are none. `lock` is the state directory's.
  static absl::StatusOr<std::unique_ptr<PostgresStore>> Lead(DirectoryLock lock,
                                                             std::unique_ptr<Postgres> connection,
                                                             LeadOptions options);
  ~PostgresStore() override;

  absl::Status Replay(JournalPlace& place,
                      const std::function<absl::Status(const v1::Record&)>& visit) override;
  absl::StatusOr<StoredSnapshot> ReadSnapshot(int64_t below) override;
  absl::StatusOr<std::vector<AckToStore>> ReadAcks() override;
  absl::StatusOr<uint64_t> ReadNewestStep(const AttemptId& attempt) override;
  // Lets another lead at once.
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
  // OK while the term that `query` finds is this one's.
  absl::Status CheckTerm(const std::string& query);
  void Beat();
  void StopBeating();

  const LeadOptions options_;
  // When a statement was sent that the database has answered, by a steady clock, in nanoseconds.
  std::atomic<int64_t> heard_ns_{0};
  int64_t term_ = 0;
  Mutex busy_;  // the connection is in use
  Mutex stop_mutex_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(stop_mutex_) = false;
  std::thread beat_;
};

// The journal's records and snapshots as of now, read beside the leader.
absl::StatusOr<std::unique_ptr<JournalReader>> OpenPostgresJournal(const std::string& conninfo);
// Metric history and logs; connects anew where the connection was lost.
absl::StatusOr<std::unique_ptr<Reader>> OpenPostgresReader(const std::string& conninfo);

}  // namespace dt
