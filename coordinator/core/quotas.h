// quotas.h: how many slots the experiments of a user, or those with a label, may hold at once.
//
// Role:      the fact as Apply folds it, the question of what is left, and the call that sets one.
//            The gate (schedule.h) asks: what a quota leaves no room for waits; what runs is left
//            alone when one is lowered.
// Cost:      nothing without quotas; with some, O(experiments that wait) where a covered one takes
//            or leaves slots.
// Bounds:    limits::kQuotas.
// Errors:    InvalidArgument naming the value and what it may be; ResourceExhausted.
// Tests:     tests/coordinator/core/quotas_test.cc, tests/sim
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/core/turn.h"
#include "dtrain/v1/control.pb.h"

namespace dt {

absl::Status ApplyQuotaSet(DurableState& state, const v1::QuotaSet& fact, int64_t wall_ms);

// That those which cover the experiment leave it; kWorldSizeMax: none does.
int32_t QuotaLeft(const State& state, const Experiment& experiment);
// "ann holds 6 of at most 8 slots (dtctl quota list)": of the one that leaves least.
std::string QuotaText(const State& state, const Experiment& experiment, int32_t wanted);

// The experiment holds so many slots more, or fewer: others may start now, or no more.
void NoteHeld(State& state, const Experiment& experiment, int32_t change);
// Quotas, or what they cover, have changed.
void FollowQuotas(State& state);

absl::StatusOr<v1::SetQuotaResponse> SetQuota(Turn& turn, const v1::SetQuotaRequest& request);
v1::ListQuotasResponse ListQuotas(const State& state);

}  // namespace dt
