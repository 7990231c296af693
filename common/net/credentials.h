// credentials.h: how two programs may talk: in the clear on one host, mutual TLS across hosts.
//
// Role:   turns --tls-ca, --tls-cert and --tls-key into gRPC credentials; the same rule on every
//         program. Room dt_credentials, apart from dt_common because it links gRPC.
// Errors: InvalidArgument naming the flag, the file or the address and the fix; also where a key is
//         not that of its certificate.
// Tests:  tests/common/net/credentials_test.cc
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/security/server_credentials.h"

namespace dt {

// Paths of PEM files. All three set: mutual TLS. None: allowed on this host alone.
struct TlsFiles {
  std::string ca;    // whom to trust
  std::string cert;  // who we are
  std::string key;
  bool None() const { return ca.empty() && cert.empty() && key.empty(); }
};

// True of "unix:/path", "localhost:7600", "127.0.0.1:7600", "[::1]:7600": no packet leaves the
// host.
bool IsLocalAddress(std::string_view address);

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakeChannelCredentials(
    const TlsFiles& files, std::string_view address);
// Clients without a certificate of the same authority are refused.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeServerCredentials(
    const TlsFiles& files, std::string_view address);

}  // namespace dt
