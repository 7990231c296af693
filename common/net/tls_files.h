// tls_files.h: the flags --tls-ca, --tls-cert and --tls-key as paths.
#pragma once

#include <string>

namespace dt {

// Paths of PEM files. All three set: mutual TLS. None: allowed only on this host.
struct TlsFiles {
  std::string ca;    // the authority to trust
  std::string cert;  // our own certificate
  std::string key;
  bool None() const { return ca.empty() && cert.empty() && key.empty(); }
};

}  // namespace dt
