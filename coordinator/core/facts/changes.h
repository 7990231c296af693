// changes.h: what people change of a submitted experiment, the stops that follow, and the numbers
// that the journal itself has.
//
// Role:      the facts as Apply folds them; the decisions of people's changes are in editing.h.
// Errors:    FailedPrecondition naming what the record says that cannot be.
// Tests:     tests/coordinator/core/editing_test.cc
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "coordinator/core/model/durable.h"
#include "dtrain/v1/record.pb.h"

namespace dt {

absl::Status ApplyStopRequested(DurableState& state, const v1::StopRequested& fact);
absl::Status ApplyExperimentChanged(DurableState& state, const v1::ExperimentChanged& fact,
                                    int64_t wall_ms);
// Into the history, where somebody is named: who had trials cancelled, or run again.
void NoteCancel(Experiment& experiment, const v1::CancelRequested& fact, int64_t wall_ms);
void NoteRetry(Experiment& experiment, const v1::TrialRetried& fact, int64_t wall_ms);
// The labels of `spec` once `change` is made of them: sets first, then removals.
std::vector<v1::Label> LabelsAfter(const v1::ExperimentSpec& spec,
                                   const v1::ExperimentChanged::Labels& change);
absl::Status ApplyJournalCreated(DurableState& state, const v1::JournalCreated& fact);
absl::Status ApplyNumbersSkipped(DurableState& state, const v1::NumbersSkipped& fact);

}  // namespace dt
