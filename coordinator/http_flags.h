// http_flags.h: rules of the flags for the page's port.
//
// Role:  pure.
// Tests: tests/coordinator/dtcoord_test.cc
#pragma once

#include <string>

#include "absl/status/status.h"
#include "common/net/credentials.h"

namespace dt {

// Refuses an address that others can reach without `clear_text`: HTTP here has no TLS, and without
// --auth=tokens it identifies nobody.
absl::Status CheckHttp(const std::string& http, bool clear_text);

// Without tokens, HTTP allows acts to the callers that gRPC allows without credentials: everybody
// on this host, if gRPC is on loopback without TLS. Returns "" then, else the reason why nobody may
// act.
std::string WhyActsAreClosed(const std::string& http, const std::string& listen,
                             const TlsFiles& tls);

}  // namespace dt
