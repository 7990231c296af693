// calls.h: users' calls: makes some changes itself, and has each call answered.
//
// Tests: tests/coordinator/core/calls_test.cc
#pragma once

#include "coordinator/core/model/turn.h"

namespace dt {

// Answers the call: adds the reply to the effects.
void AnswerCall(Turn& turn, ClientCall& call);

}  // namespace dt
