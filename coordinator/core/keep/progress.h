// progress.h: the progress of each experiment's trials, and the best of them. It is kept up to
// date with the facts, so that a summary only looks at running trials.
//
// Role:      an index over the durable state, as part of the live state; Recover makes it anew.
// Invariant: equals the result of RebuildProgress (the tests compare after every event).
// Tests:     tests/testing/core_fixture.h
#pragma once

#include <optional>

#include "coordinator/core/model/state.h"
#include "dtrain/v1/record.pb.h"

namespace dt {

// Updates the index after `record` was applied.
void UpdateProgress(State& state, const v1::Record& record);
void RebuildProgress(State& state);

// Returns the mean time of the finished trials, from the start of their last attempt to its end.
// Returns nullopt if no trial has finished.
std::optional<double> MeanSecondsOf(const LiveState& live, ExperimentId id);

// Full target of a trial; parts of it are integers, so that sums are exact.
inline constexpr uint64_t kWholeTrial = 1'000'000'000;
// Returns the done part of the target. REQUIRES: the trial is not running.
uint64_t DoneOf(const Trial& trial);

}  // namespace dt
