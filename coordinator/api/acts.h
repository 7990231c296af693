// acts.h: what is asked of the coordinator by POST: the body of an act as the request that dtctl
// sends for the same.
//
// Role:   pure.
// Errors: InvalidArgument for a body that is no object of JSON, and for a field or a value that the
//         act does not take. Each names the thing, the value, the limit and the fix.
// Tests:  tests/coordinator/api/acts_test.cc
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "api/json.h"
#include "coordinator/api/call.h"
#include "coordinator/core/event.h"

namespace dt {

struct Act {
  decltype(ClientCall::request) request;
  std::string subject;    // what it is about, for the record
  const char* kind = "";  // of its answer, as dtctl has it
  // Its answer, as dtctl has it.
  api::Json (*fields)(const google::protobuf::Message& answer) = api::ToJson;
};

// The method of the table of rights. REQUIRES: an act.
std::string_view RpcOf(ApiMethod act);

// `who` is the caller's name where a token says it, and counts before what the body says.
absl::StatusOr<Act> ReadAct(const ApiCall& call, const std::string& body, const std::string& who);

}  // namespace dt
