// drains.h: drains that people ask for, and quarantines of workers that fail what others can do.
//
// Role:      decides and journals; facts/drain_facts.h folds the facts. Decisions read only durable
//            facts and the steady clock. After a restart of the coordinator a quarantine's rest
//            begins anew.
// Tests:     tests/coordinator/core/drains_test.cc, tests/sim
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "coordinator/core/model/turn.h"
#include "dtrain/v1/control.pb.h"

namespace dt {

// Errors: InvalidArgument without a name; ResourceExhausted where no more marks are kept. What is
// so already is no error.
absl::StatusOr<v1::MarkWorkerResponse> MarkWorker(Turn& turn, const v1::MarkWorkerRequest& request);
// After an event: quarantines whom its facts speak against, and releases who made progress.
void TendMarks(Turn& turn);
// A timer fired: workers that have rested take one trial again.
void EndRests(Turn& turn);
// At a start.
void BeginRests(State& state, Instant now);

}  // namespace dt
