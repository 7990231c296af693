// changes.h: users' changes of a submitted experiment, the stops that follow, and the numbers of
// the journal itself.
//
// Role:      Apply folds these facts; calls/editing.h decides on users' changes, which are in
//            change_table.h.
// Errors:    FailedPrecondition naming the impossible part of the record.
// Tests:     tests/coordinator/core/editing_test.cc
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "coordinator/core/model/durable.h"
#include "dtrain/v1/record.pb.h"

namespace dt {

absl::Status ApplyStopRequested(DurableState& state, const v1::StopRequested& fact);
absl::Status ApplyExperimentChanged(DurableState& state, const v1::ExperimentChanged& fact,
                                    int64_t wall_ms);
absl::Status ApplyEnvironmentResolved(DurableState& state, const v1::EnvironmentResolved& fact);
// Adds a cancel or a retry to the history, if the record names a user.
void NoteCancel(Experiment& experiment, const v1::CancelRequested& fact, int64_t wall_ms);
void NoteRetry(Experiment& experiment, const v1::TrialRetried& fact, int64_t wall_ms);
absl::Status ApplyJournalCreated(DurableState& state, const v1::JournalCreated& fact);
absl::Status ApplyExperimentDeleted(DurableState& state, const v1::ExperimentDeleted& fact);
absl::Status ApplyNumbersSkipped(DurableState& state, const v1::NumbersSkipped& fact);

}  // namespace dt
