// quota_facts.h: quotas set by users, as Apply folds them.
//
// Errors:    FailedPrecondition naming the impossible part of the record.
// Tests:     tests/coordinator/core/quotas_test.cc
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "coordinator/core/model/durable.h"
#include "dtrain/v1/record.pb.h"

namespace dt {

absl::Status ApplyQuotaSet(DurableState& state, const v1::QuotaSet& fact, int64_t wall_ms);

}  // namespace dt
