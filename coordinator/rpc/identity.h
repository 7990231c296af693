// identity.h: which workers a certificate or a token may speak for.
//
// Role:    pure. A certificate that has URIs dtrain://worker/NAME among its alternative names
//          speaks for the workers NAME and NAME/… alone. One that has none may go by any name, as
//          may everyone where there is no TLS.
// Errors:  PermissionDenied naming the worker and the names that the certificate has.
// Tests:   tests/coordinator/rpc/identity_test.cc
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "coordinator/access/roles.h"

namespace dt {

// `alternative_names`: of the peer's certificate; empty where it showed none.
absl::Status CheckMayBe(std::string_view worker, const std::vector<std::string>& alternative_names);

// A worker's token, and one to become one, speaks for the workers NAME and NAME/…, and for any where its name is "*". Other
// callers, and those without a token, are not bound by this. Errors: as above.
absl::Status CheckTokenIsFor(std::string_view worker, const std::optional<Caller>& caller);

}  // namespace dt
