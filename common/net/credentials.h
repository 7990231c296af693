// credentials.h: how two programs may talk: plaintext on one host, mutual TLS across hosts.
//
// Role:   turns --tls-ca, --tls-cert and --tls-key into gRPC credentials; the same rule on every
//         program. Room dt_credentials, apart from dt_common because it links gRPC.
// Errors: InvalidArgument naming the flag, the file or the address and the fix; also if a key does
//         not belong to its certificate.
// Tests:  tests/common/net/credentials_test.cc
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/net/tls_files.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/security/server_credentials.h"

namespace dt {

namespace internal {
class PemFiles;
}

// Returns true for "unix:/path", "localhost:7600", "127.0.0.1:7600", "[::1]:7600": no packet leaves
// the host.
bool IsLocalAddress(std::string_view address);
bool AreLocalAddresses(const std::vector<std::string>& addresses);  // true if all are local

// Makes credentials for a client that connects once.
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakeChannelCredentials(
    const TlsFiles& files, std::string_view address);

// Credentials for a client that connects again and again. Each connection uses the files as they
// are when it is made, or their last valid content. Copies share the files; thread-safe.
class ConnectionCredentials {
 public:
  // Plaintext.
  ConnectionCredentials() = default;
  static absl::StatusOr<ConnectionCredentials> Make(const TlsFiles& files,
                                                    std::string_view address);
  std::shared_ptr<grpc::ChannelCredentials> Next() const;

 private:
  std::shared_ptr<internal::PemFiles> files_;  // nullptr: plaintext
};

// Makes credentials that refuse clients without a certificate of the same authority. Each
// connection uses the files as above. Must outlive the server that uses it.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeServerCredentials(
    const TlsFiles& files, std::string_view address);

}  // namespace dt
