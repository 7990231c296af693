// acts.h: turns the body of a POST into the request that dtctl would send for the same act.
//
// Role:   pure.
// Errors: InvalidArgument for a body that is not a JSON object, and for a field or a value that the
//         act does not take. Each names the thing, the value, the limit and the fix.
// Tests:  tests/coordinator/api/acts_test.cc
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "api/json.h"
#include "coordinator/api/call.h"
#include "coordinator/core/model/event.h"

namespace dt {

struct Act {
  decltype(ClientCall::request) request;
  std::string subject;    // subject of the act, for the audit record
  const char* kind = "";  // kind of its answer, as in dtctl
  // Makes its answer, as in dtctl.
  api::Json (*fields)(const google::protobuf::Message& answer) = api::ToJson;
};

// Returns the method in the table of rights. REQUIRES: an act.
std::string_view RpcOf(ApiMethod act);

// Reads an act. `who` is the caller's name from a token, if any; it overrides the name in the body.
absl::StatusOr<Act> ReadAct(const ApiCall& call, const std::string& body, const std::string& who);

}  // namespace dt
