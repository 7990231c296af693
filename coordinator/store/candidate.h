// candidate.h: who leads, of the coordinators that share a PostgreSQL database.
//
// Role:      takes an advisory lock on the connection that will commit: the server gives it back
//            when that ends, whatever became of the process. A leader that is stopped, or whose
//            host is gone without a word, keeps its connection: it is ended once nothing came
//            through it for limits::kLeaderSilence.
// Threads:   one at a time.
// Errors:    what the database says; Look may be called again, and connects anew.
// Invariant: this decides who may try. That a deposed leader writes nothing is the term's affair
//            (postgres_store.h).
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
  // `self` is how others see this process: "process 123 on train1".
  Candidate(std::string conninfo, std::string self)
      : conninfo_(std::move(conninfo)), self_(std::move(self)) {}

  // True: this process leads, through the connection that Take gives. `now` is a steady clock's.
  absl::StatusOr<bool> Look(absl::Duration now);
  // Who leads, in words; "" before Look found one.
  const std::string& leader() const { return leader_; }
  std::unique_ptr<Postgres> Take() { return std::move(connection_); }

 private:
  absl::StatusOr<bool> TryLock();
  absl::Status WatchLeader(absl::Duration now);

  const std::string conninfo_;
  const std::string self_;
  std::unique_ptr<Postgres> connection_;
  std::string leader_;
  std::string seen_;  // of the leader's connection: changes with all that comes through it
  absl::Duration since_;
};

}  // namespace dt
