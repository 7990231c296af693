// tls.cc: reads the PEM files and sets up mutual TLS.
#include "common/tls.h"

#include <fstream>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/status.h"
#include "grpc/grpc_security_constants.h"
#include "grpc/impl/codegen/grpc_types.h"

namespace dt {
namespace {

struct Pem {
  std::string ca;
  std::string cert;
  std::string key;
};

absl::StatusOr<std::string> ReadPem(const std::string& flag, const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || text.str().empty()) {
    return absl::NotFoundError(
        absl::StrCat(flag, ": cannot read ", path, ", or it is empty; name a readable PEM file"));
  }
  return text.str();
}

absl::StatusOr<Pem> ReadFiles(const TlsFiles& files) {
  if (files.ca.empty() || files.cert.empty() || files.key.empty()) {
    return absl::InvalidArgumentError(
        "--tls-ca, --tls-cert and --tls-key go together; give all three, or none on one machine");
  }
  Pem pem;
  DT_ASSIGN_OR_RETURN(pem.ca, ReadPem("--tls-ca", files.ca));
  DT_ASSIGN_OR_RETURN(pem.cert, ReadPem("--tls-cert", files.cert));
  DT_ASSIGN_OR_RETURN(pem.key, ReadPem("--tls-key", files.key));
  return pem;
}

absl::Status RefuseClearText(const std::string& address) {
  return absl::InvalidArgumentError(absl::StrCat(
      "address ", address,
      " is not on this machine, and without TLS anyone on the way could submit and read work; give "
      "--tls-ca, --tls-cert and --tls-key, or use 127.0.0.1 or unix:/path"));
}

}  // namespace

bool IsLocalAddress(const std::string& address) {
  if (absl::StartsWith(address, "unix:") || absl::StartsWith(address, "unix-abstract:"))
    return true;
  if (absl::StartsWith(address, "[::1]") || address == "::1") return true;
  const std::string host = address.substr(0, address.rfind(':'));
  if (host == "localhost") return true;
  // Only digits and dots after "127.": a name such as 127.example.com is not this machine.
  return absl::StartsWith(host, "127.") && host.find_first_not_of("0123456789.") == host.npos;
}

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeServerCredentials(
    const std::string& address, const TlsFiles& files) {
  if (!files.Given()) {
    if (!IsLocalAddress(address)) return RefuseClearText(address);
    return grpc::InsecureServerCredentials();
  }
  DT_ASSIGN_OR_RETURN(const Pem pem, ReadFiles(files));
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = pem.ca;
  options.pem_key_cert_pairs.push_back({pem.key, pem.cert});
  return grpc::SslServerCredentials(options);
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakeChannelCredentials(
    const std::string& address, const TlsFiles& files) {
  if (!files.Given()) {
    if (!IsLocalAddress(address)) return RefuseClearText(address);
    return grpc::InsecureChannelCredentials();
  }
  DT_ASSIGN_OR_RETURN(const Pem pem, ReadFiles(files));
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = pem.ca;
  options.pem_cert_chain = pem.cert;
  options.pem_private_key = pem.key;
  return grpc::SslCredentials(options);
}

grpc::ChannelArguments ClientChannelArguments() {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(static_cast<int>(limits::kControlMessageBytes));
  arguments.SetMaxSendMessageSize(static_cast<int>(limits::kControlMessageBytes));
  // A dead peer is noticed in eight seconds; the server allows a ping every four.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 5000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 3000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS,
                   static_cast<int>(absl::ToInt64Milliseconds(limits::kReconnectFirst)));
  // How long one attempt to connect may take, the handshake included.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS,
                   static_cast<int>(absl::ToInt64Milliseconds(limits::kReconnectMax)));
  // What the distribution's gRPC spends on itself: channelz, and a probe of the bandwidth-delay
  // product whose pings cost more than loopback or a cluster's network gain.
  arguments.SetInt(GRPC_ARG_ENABLE_CHANNELZ, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  return arguments;
}

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return {static_cast<grpc::StatusCode>(status.raw_code()),
          std::string(status.message().data(), status.message().size())};
}

absl::Status FromGrpcStatus(const grpc::Status& status) {
  return {static_cast<absl::StatusCode>(status.error_code()), status.error_message()};
}

}  // namespace dt
