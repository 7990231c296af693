// standby.h: waits until this coordinator leads those that share its database, and says meanwhile
// that it waits and for whom.
//
// Ownership: the connection that holds the lock, until it is the store's; the servers of a standby,
//            which give up their addresses when this goes.
// Threads:   the main thread; SIGTERM and SIGINT are blocked in all.
// Errors:    of the first look: what the database says. Later ones are waited out.
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

// What this process is called at the database: "process 123 on train1".
std::string OwnName();

class Standby {
 public:
  explicit Standby(StandbyOptions options);

  // Nothing after a signal that asks this process to stop. The addresses of `options` are then
  // those that were chosen.
  absl::StatusOr<std::unique_ptr<PostgresStore>> AwaitLead();
  // What answers calls; nullptr where nobody had to wait.
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
  Metrics metrics_;  // of a process that serves nothing yet
  Candidate candidate_;
  mutable Mutex mutex_;
  std::string reason_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<StandbyServer> rpc_;
  std::unique_ptr<HttpServer> http_;  // last: its thread looks at the others
};

}  // namespace dt
