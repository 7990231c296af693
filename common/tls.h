// tls.h: how the programs of the control plane trust each other: nothing at all on this machine,
// certificates on both sides across machines.
//
// Role:    turns an address and the three file flags into gRPC credentials, and refuses what would
//          talk across hosts in the clear.
// Threads: pure functions; files are read once, at the call.
// Errors:  InvalidArgument names the address or flag and the fix; NotFound names an unreadable
// file. Tests:   tests/coordinator/rpc_test.cc
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/support/channel_arguments.h"
#include "grpcpp/support/status.h"

namespace dt {

// --tls-ca, --tls-cert, --tls-key: PEM files. All three, or none.
struct TlsFiles {
  std::string ca;    // who may sign the other side's certificate
  std::string cert;  // ours
  std::string key;   // ours
  bool Given() const { return !ca.empty() || !cert.empty() || !key.empty(); }
};

// True for "unix:…", "localhost:…", 127.0.0.0/8 and [::1].
bool IsLocalAddress(const std::string& address);

// A server at `address`. With TLS, clients must show a certificate that `ca` signed.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeServerCredentials(
    const std::string& address, const TlsFiles& files);

// A client of `address`.
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakeChannelCredentials(
    const std::string& address, const TlsFiles& files);

// Keepalive, message sizes and reconnect backoff that every client of the coordinator uses.
grpc::ChannelArguments ClientChannelArguments();

// The codes are the same set; details stay behind.
grpc::Status ToGrpcStatus(const absl::Status& status);
absl::Status FromGrpcStatus(const grpc::Status& status);

}  // namespace dt
