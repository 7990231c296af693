// subject.h: the two things that the audit record needs of a request: who asks, and about what.
//
// Role:  pure. Works on the fields of a message by name, so each new request has them too.
// Tests: tests/coordinator/rpc/rpc_test.cc, tests/coordinator/api/acts_test.cc
#pragma once

#include <string>

#include "google/protobuf/message.h"

namespace dt {

// Sets the field `who`, if the request has it.
void SetWho(google::protobuf::Message& request, const std::string& who);
// Returns "experiment 12", "worker gpu07/cuda:0" or "quota of user ann"; "" if the request names
// none of these.
std::string SubjectOf(const google::protobuf::Message& request);

}  // namespace dt
