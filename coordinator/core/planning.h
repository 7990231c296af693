// planning.h: what an experiment would take if it were submitted now: whether its trials fit, how
// long they train, when they are done, and what they would wait for.
//
// Role:    pure. plan_draft.h has what follows from the file alone; here are the workers, the
//          queue, and how fast such trials were.
// Cost:    Query looks at the newest limits::kTrialsCompared trials that trained, whatever there
//          is.
// Errors:  what a submission is refused for.
// Tests:   tests/coordinator/core/planning_test.cc
#pragma once

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "coordinator/core/plan_draft.h"
#include "coordinator/core/state.h"
#include "dtrain/v1/control.pb.h"

namespace dt {

absl::StatusOr<v1::PlanResponse> Query(const State& state, const PlanDraft& draft,
                                       absl::Duration now);

}  // namespace dt
