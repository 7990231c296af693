// acts.h: the table of the acts, and the request that dtctl would send for the body of a POST.
//
// Role:   pure. Fields of a body and of a request have the same names and types, so that a new act
//         is a row.
// Errors: InvalidArgument for a body that is not a JSON object, and for a field or a value that the
//         act does not take. Each names the thing, the value, the limit and the fix.
// Tests:  tests/coordinator/api/acts_test.cc
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/api/call.h"
#include "coordinator/core/model/event.h"

namespace dt {

// A request, and its subject for the audit record.
struct Act {
  ControlRequest request;
  std::string subject;
};

// Returns the table of the acts.
std::vector<ApiRoute> ActRoutes();

// Returns the name of the rpc, "Cancel". REQUIRES: an act.
std::string_view RpcOf(const ApiRoute& act);

// Reads an act. `who` is the caller's name from a token, if any; it overrides the name in the body.
absl::StatusOr<Act> ReadAct(const ApiCall& call, const std::string& body, const std::string& who);

}  // namespace dt
