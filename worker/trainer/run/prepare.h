// prepare.h: an attempt's preparation before it meets other ranks: specification, data and steps.
//
// Errors: those of reading a specification and of opening files.
// Tests:  tests/worker/trainer/run/attempt_test.cc
#pragma once

#include "common/status.h"
#include "worker/frames/frames.h"
#include "worker/trainer/run/training_state.h"
#include "worker/trainer/trial/spec.h"

namespace dt::trainer {

// Fills in specification, data, tasks and pretrained weights of `state`, and this rank's `plan`.
// Returns the facts for the agent.
absl::StatusOr<frames::Prepared> Prepare(const frames::Start& start, TrainingState& state,
                                         StepPlan& plan);

// Returns the fingerprints of the data shards.
DataMarks MarksOf(const TrainingState& state);

}  // namespace dt::trainer
