// calls.h: users' calls: the one table of which function answers which call.
//
// Role:   makes some changes itself; the others are in the files beside it, questions in answer/.
// Errors: Unimplemented for a request without a row.
// Tests:  tests/coordinator/core/calls_test.cc
#pragma once

#include "coordinator/core/model/turn.h"

namespace dt {

// Returns whether the table has a function for this request.
bool AnswersCall(const google::protobuf::Descriptor& request);
// Answers the call: adds the reply to the effects.
void AnswerCall(Turn& turn, ClientCall& call);

}  // namespace dt
