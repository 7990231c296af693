#include "common/net/credentials.h"

#include <openssl/err.h>

#include <fstream>
#include <sstream>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/net/libcrypto.h"
#include "common/status.h"

namespace dt {
namespace {

struct Pem {
  std::string ca;
  std::string cert;
  std::string key;
};

absl::StatusOr<std::string> ReadPem(std::string_view flag, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file || text.str().find("-----BEGIN ") == std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat(std::string(flag), " ", path,
                                                   file ? ": not a PEM file" : ": cannot be read",
                                                   "; give a PEM file that this user may read"));
  }
  return text.str();
}

// gRPC takes any two files, and then closes every connection without a word.
absl::Status CheckPair(const TlsFiles& files, const Pem& pem) {
  const internal::Cert cert = internal::ReadCert(pem.cert);
  const internal::Key key = internal::ReadKey(pem.key);
  ERR_clear_error();
  if (cert == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("--tls-cert ", files.cert, " holds no certificate that can be read"));
  }
  if (key == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--tls-key ", files.key, " holds no private key that can be read without a password"));
  }
  if (X509_check_private_key(cert.get(), key.get()) == 1) return absl::OkStatus();
  ERR_clear_error();
  return absl::InvalidArgumentError(absl::StrCat("--tls-key ", files.key,
                                                 " is not the key of the certificate --tls-cert ",
                                                 files.cert, "; give the two of one pair"));
}

absl::StatusOr<Pem> ReadFiles(const TlsFiles& files) {
  if (files.ca.empty() || files.cert.empty() || files.key.empty()) {
    return absl::InvalidArgumentError(
        "mutual TLS needs all of --tls-ca, --tls-cert and --tls-key; give the missing ones or "
        "none");
  }
  Pem pem;
  DT_ASSIGN_OR_RETURN(pem.ca, ReadPem("--tls-ca", files.ca));
  DT_ASSIGN_OR_RETURN(pem.cert, ReadPem("--tls-cert", files.cert));
  DT_ASSIGN_OR_RETURN(pem.key, ReadPem("--tls-key", files.key));
  DT_RETURN_IF_ERROR(CheckPair(files, pem));
  return pem;
}

absl::Status ClearTextNeedsOneHost(std::string_view address) {
  if (IsLocalAddress(address)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("address '", std::string(address),
                   "' is not on this host, and without TLS only loopback and unix: addresses are "
                   "allowed; give --tls-ca, --tls-cert and --tls-key"));
}

}  // namespace

bool IsLocalAddress(std::string_view address) {
  const std::string text = absl::AsciiStrToLower(std::string(address));
  if (absl::StartsWith(text, "unix:") || absl::StartsWith(text, "unix-abstract:")) return true;
  const std::string host = text.substr(0, text.rfind(':'));
  if (host == "localhost" || host == "[::1]" || host == "::1") return true;
  // Digits and dots alone: "127.0.0.1.example.org" is somebody else's name.
  return absl::StartsWith(host, "127.") &&
         host.find_first_not_of("0123456789.") == std::string::npos;
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakeChannelCredentials(
    const TlsFiles& files, std::string_view address) {
  if (files.None()) {
    DT_RETURN_IF_ERROR(ClearTextNeedsOneHost(address));
    return grpc::InsecureChannelCredentials();
  }
  DT_ASSIGN_OR_RETURN(Pem pem, ReadFiles(files));
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
  DT_ASSIGN_OR_RETURN(Pem pem, ReadFiles(files));
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = std::move(pem.ca);
  options.pem_key_cert_pairs.push_back({std::move(pem.key), std::move(pem.cert)});
  return grpc::SslServerCredentials(options);
}

}  // namespace dt
