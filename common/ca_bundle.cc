// ca_bundle.cc: see ca_bundle.h.
#include "common/ca_bundle.h"

#include <unistd.h>

namespace dt {

std::string FindCaBundle(const std::string& root) {
  for (const char* path : {
           "/etc/ssl/certs/ca-certificates.crt",  // Debian, Ubuntu, Arch, Alpine
           "/etc/pki/tls/certs/ca-bundle.crt",    // Fedora, RHEL
           "/etc/ssl/ca-bundle.pem",              // openSUSE
           "/etc/ssl/cert.pem",                   // BSD's place, a link on some of the above
       }) {
    std::string file = root + path;
    if (access(file.c_str(), R_OK) == 0) return file;
  }
  return {};
}

}  // namespace dt
