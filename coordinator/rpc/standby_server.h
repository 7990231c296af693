// standby_server.h: the answers of a coordinator while another one leads.
//
// Role:      answers each call of any service with UNAVAILABLE and the reason, so that clients go
//            on to the next address; health answers NOT_SERVING.
// Ownership: owns the acceptor and gRPC's server, and gives up the address when destroyed.
// Threads:   gRPC's own; SetReason may be called from any thread.
// Errors:    as RpcServer's.
// Tests:     tests/coordinator/rpc/standby_server_test.cc
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/net/credentials.h"
#include "coordinator/rpc/acceptor.h"
#include "coordinator/rpc/connection_watch.h"
#include "grpcpp/server.h"

namespace dt {

class StandbyServer {
 public:
  static absl::StatusOr<std::unique_ptr<StandbyServer>> Start(const std::string& listen,
                                                              const TlsFiles& tls,
                                                              std::string reason);
  ~StandbyServer();
  StandbyServer(const StandbyServer&) = delete;
  StandbyServer& operator=(const StandbyServer&) = delete;

  // Returns an address that clients can dial.
  const std::string& address() const { return acceptor_->address(); }
  void SetReason(std::string reason);

 private:
  class Refusals;
  StandbyServer(std::unique_ptr<Acceptor> acceptor, std::string reason);

  std::unique_ptr<Refusals> refusals_;
  ConnectionWatch watch_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Acceptor> acceptor_;
};

}  // namespace dt
