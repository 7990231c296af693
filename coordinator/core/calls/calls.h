// calls.h: people's calls: those that change something, and where each call's answer is made.
//
// Tests: tests/coordinator/core/calls_test.cc
#pragma once

#include "coordinator/core/model/turn.h"

namespace dt {

// Adds the reply to the effects.
void AnswerCall(Turn& turn, ClientCall& call);

}  // namespace dt
