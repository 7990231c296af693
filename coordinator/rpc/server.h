// server.h: the coordinator's gRPC server: Control, Fleet, Access, health, and reflection for this
// machine.
//
// Ownership: owns the services, the acceptor and gRPC's server; borrows the mailbox, the reader
//            thread, the keeper of code and the statistics.
// Threads:   gRPC's own; the core thread calls the Publisher side.
// Errors:    Start: InvalidArgument or FailedPrecondition with the address and the fix.
// Tests:     tests/coordinator/rpc/rpc_test.cc, fleet_service_test.cc
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/net/credentials.h"
#include "coordinator/door/door.h"
#include "coordinator/loop/publisher.h"
#include "coordinator/rpc/acceptor.h"
#include "coordinator/rpc/access_service.h"
#include "coordinator/rpc/connection_watch.h"
#include "coordinator/rpc/control_service.h"
#include "coordinator/rpc/fleet_service.h"
#include "coordinator/rpc/pulse.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"

namespace dt {

struct ServerOptions {
  std::string listen;
  TlsFiles tls;
  ProcessFacts facts;
  size_t streams_max = limits::kStreams;
  Door* door = nullptr;  // borrowed; nullptr: every caller may do everything
};

// Settings of every server of this program. Borrows `watch`; calls report to it.
enum class Reflection { kOn, kOff };
void ConfigureServer(grpc::ServerBuilder& builder, const TlsFiles& tls, Reflection reflection,
                     ConnectionWatch& watch, Streams streams);
absl::Status GrpcDidNotStart();

class RpcServer final : public Publisher {
 public:
  // Listens and serves; health answers NOT_SERVING until SetServing.
  static absl::StatusOr<std::unique_ptr<RpcServer>> Start(const ServerOptions& options,
                                                          Mailbox<Event>& mailbox,
                                                          ReaderThread& reader, CodeKeeper& code,
                                                          RpcStats& stats);
  ~RpcServer() override;

  void Answer(Reply&& reply) override { control_.Answer(std::move(reply)); }
  void SendOrders(OrdersOut&& orders) override { fleet_.SendOrders(std::move(orders)); }
  void EndStream(StreamEnd&& end) override { fleet_.EndStream(std::move(end)); }
  void ShowStatus(std::shared_ptr<const v1::GetStatusResponse> status) override {
    control_.ShowStatus(std::move(status));
  }
  void SetAutoDevice(DeviceKind device) override { control_.SetAutoDevice(device); }
  void ResumeReads(size_t bytes) override { fleet_.ResumeReads(bytes); }

  enum class Health { kServing, kNotServing };
  void SetHealth(Health health);
  // Returns the check of the threads that serve calls and streams; valid until Shutdown. May be
  // called from any thread.
  Pulse& pulse() { return *pulse_; }
  // Ends streams and calls; returns within limits::kShutdownDrain. Call after the core loop has
  // ended.
  void Shutdown();

  const std::string& address() const { return acceptor_->address(); }
  ControlService& control() { return control_; }
  const FleetService& fleet() const { return fleet_; }
  FleetService& fleet() { return fleet_; }

 private:
  RpcServer(const ServerOptions& options, Mailbox<Event>& mailbox, ReaderThread& reader,
            CodeKeeper& code, RpcStats& stats)
      : control_(mailbox, reader, code, stats, options.door, options.facts),
        fleet_(mailbox, code, stats, options.door, options.streams_max, watch_),
        access_(options.door, stats) {}

  ConnectionWatch watch_;  // before the services, since their calls report to it
  ControlService control_;
  FleetService fleet_;
  AccessService access_;
  std::shared_ptr<grpc::ServerCredentials> credentials_;  // before server_, since its handshakes
                                                          // use it
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Pulse> pulse_;  // after server_, since it asks the server
  std::unique_ptr<Acceptor> acceptor_;
};

}  // namespace dt
