// status.h: takes what a worker reports of the rank that it holds: its step, its work, its data.
//
// Tests: tests/coordinator/core/attempts_test.cc, silence_test.cc
#pragma once

#include "coordinator/core/model/turn.h"

namespace dt {

// Takes the status of the rank that `worker` holds.
void TakeStatus(Turn& turn, Worker& worker, v1::AttemptStatus& status);
// Keeps the row, if it is newer than the last one, and how long its steps took.
void NoteRow(LiveAttempt& attempt, const v1::StepRow& row);

}  // namespace dt
