#include "common/net/credentials.h"

#include <algorithm>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/mutex.h"
#include "common/net/pem_files.h"
#include "common/status.h"
#include "grpc/grpc.h"
#include "grpc/grpc_security.h"

namespace dt {
namespace {

absl::Status ClearTextNeedsOneHost(std::string_view address) {
  if (IsLocalAddress(address)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("address '", std::string(address),
                   "' is not on this host, and without TLS only loopback and unix: addresses are "
                   "allowed; give --tls-ca, --tls-cert and --tls-key"));
}

// Like grpc::SslServerCredentials, which knows one set of certificates for its life. gRPC's core
// asks this one at each handshake.
class ReloadingServerCredentials final : public grpc::ServerCredentials {
 public:
  explicit ReloadingServerCredentials(std::unique_ptr<internal::PemFiles> files)
      : files_(std::move(files)) {
    grpc_ssl_server_credentials_options* options =
        grpc_ssl_server_credentials_create_options_using_config_fetcher(
            GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY, Fetch, this);
    credentials_ = grpc_ssl_server_credentials_create_with_options(options);
  }
  ~ReloadingServerCredentials() override { grpc_server_credentials_release(credentials_); }

  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {
    DT_CHECK(false);  // coordinator/door/ checks tokens
  }

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), credentials_);
  }
  static grpc_ssl_certificate_config_reload_status Fetch(
      void* self, grpc_ssl_server_certificate_config** config) {
    return static_cast<ReloadingServerCredentials*>(self)->FetchNewest(config);
  }
  grpc_ssl_certificate_config_reload_status FetchNewest(
      grpc_ssl_server_certificate_config** config) {
    internal::Pem pem = files_->Newest();
    MutexLock lock(&mutex_);
    if (pem == given_) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    const grpc_ssl_pem_key_cert_pair pair = {pem.key.c_str(), pem.cert.c_str()};
    *config = grpc_ssl_server_certificate_config_create(pem.ca.c_str(), &pair, 1);
    given_ = std::move(pem);
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  const std::unique_ptr<internal::PemFiles> files_;
  Mutex mutex_;
  internal::Pem given_ ABSL_GUARDED_BY(mutex_);
  grpc_server_credentials* credentials_ = nullptr;
};

}  // namespace

bool IsLocalAddress(std::string_view address) {
  const std::string text = absl::AsciiStrToLower(std::string(address));
  if (absl::StartsWith(text, "unix:") || absl::StartsWith(text, "unix-abstract:")) return true;
  const std::string host = text.substr(0, text.rfind(':'));
  if (host == "localhost" || host == "[::1]" || host == "::1") return true;
  // Only digits and dots: "127.0.0.1.example.org" is another host.
  return absl::StartsWith(host, "127.") &&
         host.find_first_not_of("0123456789.") == std::string::npos;
}

bool AreLocalAddresses(const std::vector<std::string>& addresses) {
  return std::all_of(addresses.begin(), addresses.end(),
                     [](const auto& one) { return IsLocalAddress(one); });
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakeChannelCredentials(
    const TlsFiles& files, std::string_view address) {
  DT_ASSIGN_OR_RETURN(const ConnectionCredentials made,
                      ConnectionCredentials::Make(files, address));
  return made.Next();
}

absl::StatusOr<ConnectionCredentials> ConnectionCredentials::Make(const TlsFiles& files,
                                                                  std::string_view address) {
  ConnectionCredentials made;
  if (files.None()) {
    DT_RETURN_IF_ERROR(ClearTextNeedsOneHost(address));
    return made;
  }
  DT_ASSIGN_OR_RETURN(made.files_, internal::PemFiles::Open(files));
  return made;
}

std::shared_ptr<grpc::ChannelCredentials> ConnectionCredentials::Next() const {
  if (files_ == nullptr) return grpc::InsecureChannelCredentials();
  internal::Pem pem = files_->Newest();
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = std::move(pem.ca);
  options.pem_cert_chain = std::move(pem.cert);
  options.pem_private_key = std::move(pem.key);
  return grpc::SslCredentials(options);
}

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeServerCredentials(
    const TlsFiles& files, std::string_view address) {
  if (files.None()) {
    DT_RETURN_IF_ERROR(ClearTextNeedsOneHost(address));
    return grpc::InsecureServerCredentials();
  }
  DT_ASSIGN_OR_RETURN(auto pem_files, internal::PemFiles::Open(files));
  return std::make_shared<ReloadingServerCredentials>(std::move(pem_files));
}

}  // namespace dt
