// authority.h: an authority of one's own, and the certificates that it gives programs and people.
//
// Role:    EC P-256 by libcrypto, from and to PEM text in memory; the caller keeps the files. What
//          is issued says who it is for as coordinator/access/roles.h reads it: a URI
//          dtrain://ROLE/NAME among the alternative names.
// Errors:  InvalidArgument naming the value, what it may be and the fix; Internal where libcrypto
//          fails.
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

inline constexpr int kAuthorityDays = 3650;   // unless the caller says another
inline constexpr int kCertificateDays = 365;  // likewise
inline constexpr int kCertificateDaysMax = 3650;

struct CertificatePair {
  std::string cert;  // PEM
  std::string key;   // PEM, PKCS #8, without a password
  std::time_t expires = 0;
};

struct CertificateSubject {
  std::string name;  // letters, digits and . _ - @, at most 64
  // "admin", "submitter", "observer", "worker": a client's certificate; "guest": one of no role, which
  // opens the connection on which a token is shown. "": a server's, for the coordinator.
  std::string role;
  std::vector<std::string> hosts;  // names and IP addresses under which a server is dialled
};

// What a name may be that is also that of its files. Errors: InvalidArgument.
absl::Status CheckCertificateName(std::string_view name);

// An authority that signs certificates of programs, and none of further authorities.
absl::StatusOr<CertificatePair> MakeAuthority(std::string_view name, int days);

// A certificate by `authority`, for `days` or as long as the authority's own. A server's proves the
// server alone and a client's the client, so that no worker can pose as the coordinator.
absl::StatusOr<CertificatePair> IssueCertificate(const CertificatePair& authority,
                                                 const CertificateSubject& subject, int days);

}  // namespace dt
