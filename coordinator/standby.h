// standby.h: waits until this coordinator leads those that share its database. Meanwhile answers
// that it waits, and for which leader.
//
// Ownership: the connection with the lock until the store takes it, and the servers of a standby,
//            which release their addresses when destroyed.
// Threads:   the main thread; SIGTERM and SIGINT are blocked in all.
// Errors:    those of the database at the first look. Later errors are waited out.
// Tests:     tests/e2e/standby_test.cc
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "common/net/credentials.h"
#include "coordinator/http/http_server.h"
#include "coordinator/http/metrics.h"
#include "coordinator/rpc/standby_server.h"
#include "coordinator/store/candidate.h"
#include "coordinator/store/postgres_store.h"

namespace dt {

struct StandbyOptions {
  std::string conninfo;
  std::string state_dir;
  std::string listen;
  std::string http;
  TlsFiles tls;
  std::string addresses_file;  // "": none
};

// Returns this process's name at the database: "process 123 on train1".
std::string OwnName();

class Standby {
 public:
  explicit Standby(StandbyOptions options);

  // Returns nullptr after a signal to stop. Writes the chosen addresses into `options`.
  absl::StatusOr<std::unique_ptr<PostgresStore>> AwaitLead();
  // Returns the server that answers calls; nullptr if no wait was needed.
  std::unique_ptr<StandbyServer> TakeServer() { return std::move(rpc_); }
  const StandbyOptions& options() const { return options_; }

 private:
  absl::Status StartServers();
  void Tell(std::string reason);
  std::string Reason() const;
  HttpAnswer Answer(const HttpRequest& request) const;

  StandbyOptions options_;
  const SystemClock clock_;
  RpcStats stats_;
  Metrics metrics_;  // of a process that does not serve yet
  Candidate candidate_;
  mutable Mutex mutex_;
  std::string reason_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<StandbyServer> rpc_;
  std::unique_ptr<HttpServer> http_;  // last: its thread uses the others
};

}  // namespace dt
