// drain_facts.h: drains and quarantines as facts, and the ends that count against a worker.
//
// Role:      Apply folds these facts, and others ask about them. blame.h says what they prove,
//            run/drains.h decides.
// Bounds:    limits::kMarks names with a mark, and as many with a streak.
// Errors:    FailedPrecondition naming what the record says that cannot be.
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
// The attempt has ended so.
void CountForWorkers(DurableState& state, const AttemptId& id, const Attempt& attempt);
// The attempt of this experiment got on: that ends the streaks of all its workers.
void CountProgress(DurableState& state, Experiment& experiment, const Attempt& attempt);
// What an experiment that goes away counted against workers.
void ForgetStreaks(DurableState& state, ExperimentId id);

// nullptr: there is none.
const WorkerMark* FindMark(const DurableState& state, const std::string& worker);
// How long a quarantined worker rests before it takes one trial again.
absl::Duration RestOf(const WorkerMark& mark);
// "drained by ann: new disk; quarantined: …".
std::string MarkText(const WorkerMark& mark);

}  // namespace dt
