// acceptor.h: listens and accepts for gRPC, whose own listener in Debian 12 never accepts again
// after the process ran out of descriptors once (CVE-2023-4785).
//
// Ownership: owns the listening socket and the threads; hands accepted sockets to gRPC.
// Threads:   one accepts and one sweeps. gRPC reads a new connection on the thread that hands it
//            over, for as long as bytes come: only another thread can cut such a flood off.
// Errors:    InvalidArgument for an address it cannot read; FailedPrecondition when it is taken.
//            Out of descriptors, it closes the newest connection and goes on.
// Tests:     tests/coordinator/rpc/rpc_test.cc, connection_watch_test.cc
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "common/net/listen.h"
#include "coordinator/rpc/connection_watch.h"
#include "grpcpp/server_builder.h"

namespace dt {

class Acceptor {
 public:
  using Sink = grpc::experimental::ExternalConnectionAcceptor;

  // `address` is host:port, [v6]:port or unix:/path; port 0 lets the system choose.
  static absl::StatusOr<std::unique_ptr<Acceptor>> Listen(const std::string& address);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // As clients may dial it, with the port that was chosen.
  const std::string& address() const { return listening_.address; }

  // Starts accepting; `watch` is borrowed and swept.
  // REQUIRES: the server of `sink` runs, and outlives Stop.
  void Start(std::unique_ptr<Sink> sink, ConnectionWatch& watch);
  // Accepts no more. Idempotent.
  void Stop();

 private:
  Acceptor(Listening listening, UniqueFd wake);
  void Run();
  void Sweep();
  void AcceptAll();
  void Shed();

  const Listening listening_;
  const UniqueFd wake_;  // an eventfd: Stop was called
  UniqueFd reserve_;     // a descriptor given up to accept, and close, when none is left
  std::unique_ptr<Sink> sink_;
  ConnectionWatch* watch_ = nullptr;
  std::thread thread_;
  std::thread sweeping_;
};

}  // namespace dt
