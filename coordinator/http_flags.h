// http_flags.h: what the flags of the page's port allow.
//
// Role:  pure.
// Tests: tests/coordinator/dtcoord_test.cc
#pragma once

#include <string>

#include "absl/status/status.h"
#include "common/net/credentials.h"

namespace dt {

// HTTP here has no TLS, and without --auth=tokens asks nobody who they are.
absl::Status CheckHttp(const std::string& http, bool clear_text);

// Without tokens HTTP lets act whom gRPC lets act without showing anything: everybody on this host,
// where gRPC is on loopback in the clear. "" then; else why nobody may.
std::string WhyActsAreClosed(const std::string& http, const std::string& listen,
                             const TlsFiles& tls);

}  // namespace dt
