// quota_calls.h: users' calls that set a quota or list quotas.
//
// Errors:    InvalidArgument naming the value and its range; ResourceExhausted.
// Bounds:    limits::kQuotas.
// Tests:     tests/coordinator/core/quotas_test.cc
#pragma once

#include "absl/status/statusor.h"
#include "coordinator/core/model/turn.h"
#include "dtrain/v1/control.pb.h"

namespace dt {

absl::StatusOr<v1::SetQuotaResponse> SetQuota(Turn& turn, const v1::SetQuotaRequest& request);
absl::StatusOr<v1::ListQuotasResponse> Query(const State& state, const v1::ListQuotasRequest&,
                                             absl::Duration);

}  // namespace dt
