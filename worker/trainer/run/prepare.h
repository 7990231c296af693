// prepare.h: what an attempt has before it meets other ranks: its specification, the data that this
// names, the steps that follow.
//
// Errors: those of reading a specification and of opening files.
// Tests:  tests/worker/trainer/run/attempt_test.cc
#pragma once

#include "common/status.h"
#include "worker/frames/frames.h"
#include "worker/trainer/run/training_state.h"
#include "worker/trainer/trial/spec.h"

namespace dt::trainer {

// Fills the specification, data, tasks and pretrained weights of `state`, and this rank's `plan`.
// Gives what it found, for the agent.
absl::StatusOr<frames::Prepared> Prepare(const frames::Start& start, TrainingState& state,
                                         StepPlan& plan);

// The fingerprints of its shards.
DataMarks MarksOf(const TrainingState& state);

}  // namespace dt::trainer
