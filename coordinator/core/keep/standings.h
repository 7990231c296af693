// standings.h: how far each experiment's trials have come and which is best, kept up to date as
// facts are made, so that a summary looks at the trials under way alone.
//
// Role:      an index over the durable state; part of the live state, made anew by Recover.
// Invariant: what RestandAll would make (the tests compare after every event).
// Tests:     tests/testing/core_fixture.h
#pragma once

#include <optional>

#include "coordinator/core/model/state.h"
#include "dtrain/v1/record.pb.h"

namespace dt {

// After `record` was applied.
void Restand(State& state, const v1::Record& record);
void RestandAll(State& state);

// The mean over its trials that finished, from the start of their last attempt to its end; nothing:
// none has.
std::optional<double> MeanSecondsOf(const LiveState& live, ExperimentId id);

// A part of a trial's target, 0 to 1, in whole numbers, so that sums are exact.
inline constexpr uint64_t kWholeTrial = 1'000'000'000;
// REQUIRES: the trial exists and is not under way.
uint64_t DoneOf(const Trial& trial);

}  // namespace dt
