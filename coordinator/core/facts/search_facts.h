// search_facts.h: decisions of a search: the value that a trial got while it runs, entries at
// rungs, takeovers of weights and values between members of a population, and its end.
//
// Role:      Apply folds these facts, and others ask about them; run/searching.h and
//            run/population.h decide, and calls/client_calls.h suggests values.
// Errors:    FailedPrecondition naming the impossible part of the record.
// Tests:     tests/coordinator/core/pbt_test.cc, searching_test.cc, client_trials_test.cc
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "coordinator/core/model/durable.h"
#include "dtrain/v1/record.pb.h"

namespace dt {

absl::Status ApplySearchEnded(DurableState& state, const v1::SearchEnded& fact, int64_t wall_ms);
absl::Status ApplyValueSuggested(DurableState& state, const v1::ValueSuggested& fact);
absl::Status ApplyRungDecided(DurableState& state, const v1::RungDecided& fact);
absl::Status ApplyTrialMutated(DurableState& state, const v1::TrialMutated& fact);

// Returns whether the trial was entered at the rung, or at the share of a population.
bool IsEntered(const Trial& trial, uint32_t rung);
// Returns whether a takeover is decided and no attempt has started since.
bool AwaitsMutation(const Trial& trial);
// Returns the checkpoint of `step` with the values that the trial had when it was compared there;
// nullptr if it is not known any more.
const KnownCheckpoint* SavedAt(const Trial& trial, uint64_t step);
// Returns the values that the trial had at `step`.
v1::ExpandedTrial ExpandedAt(const Experiment& experiment, const Trial& trial, uint64_t step);

}  // namespace dt
