// search_facts.h: what comparing trials left in the journal: entries at rungs, and members of a
// population that went on with another one's weights and values.
//
// Role:      the facts as Apply folds them, and what follows from them; the decisions are in
//            searching.h and population.h.
// Errors:    FailedPrecondition naming what the record says that cannot be.
// Tests:     tests/coordinator/core/pbt_test.cc, searching_test.cc
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "coordinator/core/model/durable.h"
#include "dtrain/v1/record.pb.h"

namespace dt {

absl::Status ApplyRungDecided(DurableState& state, const v1::RungDecided& fact);
absl::Status ApplyTrialMutated(DurableState& state, const v1::TrialMutated& fact);

// At a rung, or at a share of a population.
bool IsEntered(const Trial& trial, uint32_t rung);
// That it took over is decided, and no attempt has started since.
bool AwaitsMutation(const Trial& trial);
// What the trial saved at `step` with the values that it had when it was compared there; nullptr:
// it is not known any more.
const KnownCheckpoint* SavedAt(const Trial& trial, uint64_t step);
// The values that it had then.
v1::ExpandedTrial ExpandedAt(const Experiment& experiment, const Trial& trial, uint64_t step);

}  // namespace dt
