// drain_facts.h: drains and quarantines as facts, and the ends that count against a worker.
//
// Role:      Apply folds these facts, and others ask about them. blame.h weighs the ends,
//            run/drains.h decides.
// Bounds:    limits::kMarks names with a mark, and as many with a streak.
// Errors:    FailedPrecondition naming the impossible part of the record.
// Tests:     tests/coordinator/core/drains_test.cc
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "coordinator/core/model/durable.h"
#include "dtrain/v1/record.pb.h"

namespace dt {

absl::Status ApplyWorkerMarked(DurableState& state, const v1::WorkerMarked& fact, int64_t wall_ms);
// Counts the end of the attempt for or against its workers.
void CountForWorkers(DurableState& state, const AttemptId& id, const Attempt& attempt);
// Ends the streaks of all workers of the attempt, as it made progress.
void CountProgress(DurableState& state, Experiment& experiment, const Attempt& attempt);
// Drops the ends of a deleted experiment from the streaks.
void ForgetStreaks(DurableState& state, ExperimentId id);

// Returns nullptr if the worker has no mark.
const WorkerMark* FindMark(const DurableState& state, const std::string& worker);
// Returns how long a quarantined worker rests before it takes one trial again.
absl::Duration RestOf(const WorkerMark& mark);
// Returns "drained by ann: new disk; quarantined: …".
std::string MarkText(const WorkerMark& mark);

}  // namespace dt
