// candidate.h: elects the leader of the coordinators that share a PostgreSQL database.
//
// Role:      takes an advisory lock on the connection that will commit. The server releases the
//            lock when that connection ends, whatever happened to the process. A leader that is
//            stopped, or whose host vanished, keeps its connection; the candidate ends it after
//            limits::kLeaderSilence without traffic.
// Threads:   one at a time.
// Errors:    those of the database; Look may be called again, and reconnects.
// Invariant: the lock only decides who may try to lead. The term keeps a deposed leader from
//            writing (postgres_store.h).
// Tests:     tests/coordinator/store/postgres_test.cc, tests/e2e/standby_test.cc
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "coordinator/store/postgres.h"

namespace dt {

class Candidate {
 public:
  // `self` is this process's name for others: "process 123 on train1".
  Candidate(std::string conninfo, std::string self)
      : conninfo_(std::move(conninfo)), self_(std::move(self)) {}

  // Returns true if this process leads, through the connection that Take returns. `now` comes from
  // a steady clock.
  absl::StatusOr<bool> Look(absl::Duration now);
  // Returns a description of the leader; "" before Look found one.
  const std::string& leader() const { return leader_; }
  std::unique_ptr<Postgres> Take() { return std::move(connection_); }

 private:
  absl::StatusOr<bool> TryLock();
  absl::Status WatchLeader(absl::Duration now);

  const std::string conninfo_;
  const std::string self_;
  std::unique_ptr<Postgres> connection_;
  std::string leader_;
  std::string seen_;  // state of the leader's connection: changes with all its traffic
  absl::Duration since_;
};

}  // namespace dt
