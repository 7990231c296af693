// quota_facts.h: quotas that people set, as Apply folds them.
//
// Errors:    FailedPrecondition naming what the record says that cannot be.
// Tests:     tests/coordinator/core/quotas_test.cc
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "coordinator/core/model/durable.h"
#include "dtrain/v1/record.pb.h"

namespace dt {

absl::Status ApplyQuotaSet(DurableState& state, const v1::QuotaSet& fact, int64_t wall_ms);

}  // namespace dt
