#include "common/net/authority.h"

#include <arpa/inet.h>
#include <openssl/asn1.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/obj_mac.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/net/libcrypto.h"
#include "common/status.h"
#include "common/text.h"

namespace dt {
namespace {

using internal::Bio;
using internal::Cert;
using internal::Freed;
using internal::Key;
using internal::ReadCert;
using internal::ReadKey;
using Number = std::unique_ptr<BIGNUM, Freed<BIGNUM, BN_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Freed<X509_EXTENSION, X509_EXTENSION_free>>;

constexpr long kX509Version3 = 2;  // counted from 0
constexpr int kSerialBits = 127;   // positive as a 16-byte INTEGER
constexpr int kDaySeconds = 24 * 3600;
constexpr int kClockSlackSeconds = 3600;  // so that hosts whose clocks are behind accept it at once
constexpr size_t kNameBytes = 64;         // ub-common-name of RFC 5280
constexpr size_t kHostBytes = 253;        // of a DNS name
constexpr size_t kHostsMax = 64;

absl::Status CryptoError(std::string_view what) {
  std::array<char, 256> text{};
  ERR_error_string_n(ERR_get_error(), text.data(), text.size());
  ERR_clear_error();
  return absl::InternalError(
      absl::StrCat("libcrypto cannot ", std::string(what), ": ", text.data()));
}

absl::StatusOr<std::string> TextOf(BIO* bio) {
  char* data = nullptr;
  const long bytes = BIO_get_mem_data(bio, &data);
  if (bytes <= 0) return CryptoError("write PEM");
  return std::string(data, static_cast<size_t>(bytes));
}

absl::StatusOr<CertificatePair> PairOf(X509* cert, EVP_PKEY* key, std::time_t expires) {
  const Bio cert_text(BIO_new(BIO_s_mem()));
  const Bio key_text(BIO_new(BIO_s_mem()));
  if (cert_text == nullptr || key_text == nullptr ||
      PEM_write_bio_X509(cert_text.get(), cert) != 1 ||
      PEM_write_bio_PKCS8PrivateKey(key_text.get(), key, nullptr, nullptr, 0, nullptr, nullptr) !=
          1) {
    return CryptoError("write PEM");
  }
  CertificatePair pair;
  DT_ASSIGN_OR_RETURN(pair.cert, TextOf(cert_text.get()));
  DT_ASSIGN_OR_RETURN(pair.key, TextOf(key_text.get()));
  pair.expires = expires;
  return pair;
}

// Adds an extension whose value has the form of openssl's configuration.
bool Extend(X509* cert, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, cert, nullptr, nullptr, 0);
  X509V3_set_ctx_nodb(&context);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  return extension != nullptr && X509_add_ext(cert, extension.get(), -1) == 1;
}

bool SetName(X509* cert, const std::string& name) {
  X509_NAME* subject = X509_get_subject_name(cert);
  return X509_NAME_add_entry_by_NID(
             subject, NID_commonName, MBSTRING_UTF8,
             reinterpret_cast<const unsigned char*>(name.data()),  // NOLINT: libcrypto's own type
             static_cast<int>(name.size()), -1, 0) == 1;
}

bool SetSerial(X509* cert) {
  const Number serial(BN_new());
  return serial != nullptr &&
         BN_rand(serial.get(), kSerialBits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(cert)) != nullptr;
}

// Makes a certificate without extensions and signature. Null: libcrypto failed.
Cert Blank(const std::string& name, EVP_PKEY* key, std::time_t now, std::time_t expires) {
  Cert cert(X509_new());
  if (cert == nullptr || X509_set_version(cert.get(), kX509Version3) != 1 ||
      !SetSerial(cert.get()) || !SetName(cert.get(), name) ||
      ASN1_TIME_set(X509_getm_notBefore(cert.get()), now - kClockSlackSeconds) == nullptr ||
      ASN1_TIME_set(X509_getm_notAfter(cert.get()), expires) == nullptr ||
      X509_set_pubkey(cert.get(), key) != 1) {
    return nullptr;
  }
  return cert;
}

absl::Status CheckDays(int days) {
  if (days >= 1 && days <= kCertificateDaysMax) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--days is ", days, "; write 1 to ", kCertificateDaysMax));
}

bool IsIp(const std::string& text) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return inet_pton(AF_INET, text.c_str(), bytes.data()) == 1 ||
         inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1;
}

// Returns "DNS:alpha.example" or "IP:192.0.2.10". An accepted name has no comma, which would begin
// another name.
absl::StatusOr<std::string> HostName(const std::string& host) {
  if (IsIp(host)) return absl::StrCat("IP:", host);
  const bool plain = !host.empty() && host.size() <= kHostBytes &&
                     std::all_of(host.begin(), host.end(), [](unsigned char c) {
                       return absl::ascii_isalnum(c) || c == '.' || c == '-' || c == '_';
                     });
  if (plain) return absl::StrCat("DNS:", host);
  return absl::InvalidArgumentError(
      absl::StrCat("--host '", Printable(host),
                   "' is neither a host's name nor an IP address; write one as others dial it, "
                   "without a port"));
}

absl::StatusOr<std::string> AlternativeNames(const CertificateSubject& subject) {
  std::vector<std::string> names;
  if (subject.role.empty() && subject.hosts.empty()) {
    return absl::InvalidArgumentError(
        "--host is missing; a coordinator's certificate names each address that others dial: "
        "--host alpha.example --host 192.0.2.10");
  }
  if (subject.hosts.size() > kHostsMax) {
    return absl::InvalidArgumentError(absl::StrCat("--host is given ", subject.hosts.size(),
                                                   " times; at most ", kHostsMax, " are kept"));
  }
  if (!subject.role.empty()) {
    names.push_back(absl::StrCat("URI:dtrain://", subject.role, "/", subject.name));
  }
  for (const std::string& host : subject.hosts) {
    DT_ASSIGN_OR_RETURN(names.emplace_back(), HostName(host));
  }
  return absl::StrJoin(names, ",");
}

// Returns when a certificate expires, as time(2) counts.
absl::StatusOr<std::time_t> EndOf(const X509* cert, std::time_t now) {
  int days = 0;
  int seconds = 0;
  if (ASN1_TIME_diff(&days, &seconds, nullptr, X509_get0_notAfter(cert)) != 1) {
    return CryptoError("read the authority's end");
  }
  return now + static_cast<std::time_t>(days) * kDaySeconds + seconds;
}

}  // namespace

absl::Status CheckCertificateName(std::string_view name) {
  const bool plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return absl::ascii_isalnum(c) ||
           std::string_view("._-@").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain && !name.empty() && name.size() <= kNameBytes && name[0] != '.' && name[0] != '-') {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", Printable(name), "' cannot be the name of a certificate; use letters, ",
                   "digits and . _ - @, at most ", kNameBytes, ", the first a letter or digit"));
}

absl::StatusOr<CertificatePair> MakeAuthority(std::string_view name, int days) {
  DT_RETURN_IF_ERROR(CheckDays(days));
  DT_RETURN_IF_ERROR(CheckCertificateName(name));
  const Key key(EVP_EC_gen("P-256"));
  if (key == nullptr) return CryptoError("make a key");
  const std::time_t now = std::time(nullptr);
  const std::time_t expires = now + static_cast<std::time_t>(days) * kDaySeconds;
  const Cert cert = Blank(std::string(name), key.get(), now, expires);
  if (cert == nullptr || X509_set_issuer_name(cert.get(), X509_get_subject_name(cert.get())) != 1 ||
      !Extend(cert.get(), cert.get(), NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
      !Extend(cert.get(), cert.get(), NID_key_usage, "critical,keyCertSign,cRLSign") ||
      !Extend(cert.get(), cert.get(), NID_subject_key_identifier, "hash") ||
      X509_sign(cert.get(), key.get(), EVP_sha256()) == 0) {
    return CryptoError("make an authority");
  }
  return PairOf(cert.get(), key.get(), expires);
}

absl::StatusOr<CertificatePair> IssueCertificate(const CertificatePair& authority,
                                                 const CertificateSubject& subject, int days) {
  DT_RETURN_IF_ERROR(CheckDays(days));
  DT_RETURN_IF_ERROR(CheckCertificateName(subject.name));
  DT_ASSIGN_OR_RETURN(const std::string names, AlternativeNames(subject));
  const Cert issuer = ReadCert(authority.cert);
  const Key issuer_key = ReadKey(authority.key);
  if (issuer == nullptr || issuer_key == nullptr || X509_check_ca(issuer.get()) != 1 ||
      X509_check_private_key(issuer.get(), issuer_key.get()) != 1) {
    ERR_clear_error();
    return absl::InvalidArgumentError(
        "ca.crt and ca.key are not an authority's certificate and its key; give the two that "
        "'dtctl "
        "ca init' made");
  }
  const std::time_t now = std::time(nullptr);
  DT_ASSIGN_OR_RETURN(const std::time_t end, EndOf(issuer.get(), now));
  if (end <= now) {
    return absl::InvalidArgumentError(
        "the authority ended, and nobody would take what it issues; make another one with 'dtctl "
        "ca init --dir FOLDER' and give its certificates to every program");
  }
  const std::time_t expires = std::min(end, now + static_cast<std::time_t>(days) * kDaySeconds);
  const Key key(EVP_EC_gen("P-256"));
  if (key == nullptr) return CryptoError("make a key");
  const Cert cert = Blank(subject.name, key.get(), now, expires);
  const std::string usage = subject.role.empty() ? "serverAuth" : "clientAuth";
  if (cert == nullptr ||
      X509_set_issuer_name(cert.get(), X509_get_subject_name(issuer.get())) != 1 ||
      !Extend(cert.get(), issuer.get(), NID_basic_constraints, "critical,CA:FALSE") ||
      !Extend(cert.get(), issuer.get(), NID_key_usage, "critical,digitalSignature") ||
      !Extend(cert.get(), issuer.get(), NID_ext_key_usage, usage) ||
      !Extend(cert.get(), issuer.get(), NID_subject_alt_name, names) ||
      !Extend(cert.get(), issuer.get(), NID_subject_key_identifier, "hash") ||
      !Extend(cert.get(), issuer.get(), NID_authority_key_identifier, "keyid") ||
      X509_sign(cert.get(), issuer_key.get(), EVP_sha256()) == 0) {
    return CryptoError("issue a certificate");
  }
  return PairOf(cert.get(), key.get(), expires);
}

}  // namespace dt
