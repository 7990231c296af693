// authority.h: a private certificate authority, and the certificates that it issues to programs and
// people.
//
// Role:    EC P-256 by libcrypto, from and to PEM text in memory; the caller keeps the files. A
//          certificate names its holder in the form that coordinator/access/roles.h reads: a URI
//          dtrain://ROLE/NAME among the alternative names.
// Errors:  InvalidArgument naming the value, the allowed values and the fix; Internal where
//          libcrypto fails.
// Threads: pure but for the clock and libcrypto's randomness.
// Tests:   tests/common/net/authority_test.cc; as files, tests/cli/commands/ca_command_test.cc
// Source:  RFC 5280 §4.2 (extensions), RFC 6125 (addresses as alternative names alone)
#pragma once

#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace dt {

inline constexpr int kAuthorityDays = 3650;   // the default
inline constexpr int kCertificateDays = 365;  // the default
inline constexpr int kCertificateDaysMax = 3650;

struct CertificatePair {
  std::string cert;  // PEM
  std::string key;   // PEM, PKCS #8, without a password
  std::time_t expires = 0;
};

struct CertificateSubject {
  std::string name;  // letters, digits and . _ - @, at most 64
  // "admin", "submitter", "observer", "worker": a client's certificate. "guest": a certificate
  // without a role, which opens the connection on which a token is shown. "": a server's, for the
  // coordinator.
  std::string role;
  std::vector<std::string> hosts;  // names and IP addresses under which a server is dialled
};

// Checks a name that is also the name of files. Errors: InvalidArgument.
absl::Status CheckCertificateName(std::string_view name);

// Makes an authority that signs certificates of programs, but no further authorities.
absl::StatusOr<CertificatePair> MakeAuthority(std::string_view name, int days);

// Issues a certificate by `authority`, for `days` or until the authority's own expires. A server's
// certificate is valid only for servers and a client's only for clients, so that no worker can pose
// as the coordinator.
absl::StatusOr<CertificatePair> IssueCertificate(const CertificatePair& authority,
                                                 const CertificateSubject& subject, int days);

}  // namespace dt
