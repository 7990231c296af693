// act_fields.h: reads one field of an act's body into the request, by its type in the message.
//
// Role:   pure. Answers have the same forms (api/json.h): an enum is a word, 64 random bits and
//         bytes are hex digits, metrics and labels are objects.
// Errors: InvalidArgument names the field, its value and the allowed values.
// Bounds: a body is at most limits::kHttpBodyBytes; metrics are at most limits::kMetrics.
// Tests:  tests/coordinator/api/acts_test.cc
#pragma once

#include "absl/status/status.h"
#include "api/json.h"
#include "google/protobuf/message.h"

namespace dt {

// Reads a field that the body has into the field of the same name. REQUIRES: the message has it.
absl::Status ReadField(const api::Json& body, const char* name, google::protobuf::Message& into);

}  // namespace dt
