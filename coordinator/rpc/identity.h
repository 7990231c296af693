// identity.h: the workers that a certificate or a token may speak for.
//
// Role:    pure. A certificate with URIs dtrain://worker/NAME among its alternative names speaks
//          only for the workers NAME and NAME/…. A certificate without such a URI may speak for any
//          name, and so may every caller without TLS.
// Errors:  PermissionDenied names the worker and the names in the certificate.
// Tests:   tests/coordinator/rpc/identity_test.cc
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "coordinator/access/roles.h"

namespace dt {

// `alternative_names` are those in the peer's certificate; empty if it showed none.
absl::Status CheckMayBe(std::string_view worker, const std::vector<std::string>& alternative_names);

// Checks a worker's or a joiner's token: it speaks for the workers NAME and NAME/…, or for any
// worker if its name is "*". Admits other callers, and those without a token. Errors: as above.
absl::Status CheckTokenIsFor(std::string_view worker, const std::optional<Caller>& caller);

}  // namespace dt
