// acceptor.h: listens and accepts for gRPC. gRPC's own listener in Debian 12 never accepts again
// once the process has run out of descriptors (CVE-2023-4785).
//
// Ownership: owns the listening socket and the threads; hands accepted sockets to gRPC.
// Threads:   one thread accepts and one sweeps. gRPC reads a new connection on the thread that
//            hands it over, for as long as bytes arrive, so only another thread can cut off such a
//            flood.
// Errors:    InvalidArgument for an address that it cannot read; FailedPrecondition if the address
//            is taken. When no descriptor is left, it closes the newest connection and continues.
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

  // `address` is host:port, [v6]:port or unix:/path; with port 0 the system chooses.
  static absl::StatusOr<std::unique_ptr<Acceptor>> Listen(const std::string& address);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // Returns an address that clients can dial, with the chosen port.
  const std::string& address() const { return listening_.address; }

  // Starts accepting. Borrows `watch` and sweeps it.
  // REQUIRES: the server of `sink` runs, and outlives Stop.
  void Start(std::unique_ptr<Sink> sink, ConnectionWatch& watch);
  // Stops accepting. Idempotent.
  void Stop();

 private:
  Acceptor(Listening listening, UniqueFd wake);
  void Run();
  void Sweep();
  void AcceptAll();
  void Shed();

  const Listening listening_;
  const UniqueFd wake_;  // an eventfd: Stop was called
  UniqueFd reserve_;  // a spare descriptor, used to accept and close a connection when none is left
  std::unique_ptr<Sink> sink_;
  ConnectionWatch* watch_ = nullptr;
  std::thread thread_;
  std::thread sweeping_;
};

}  // namespace dt
