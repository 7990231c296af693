// drains.h: drains by users, and quarantines of workers on which trials fail that succeed
// elsewhere.
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

// Sets or removes a drain. Errors: InvalidArgument without a name; ResourceExhausted if there are
// too many marks. A request without effect is no error.
absl::StatusOr<v1::MarkWorkerResponse> MarkWorker(Turn& turn, const v1::MarkWorkerRequest& request);
// Quarantines workers that the facts of the event speak against, and releases workers that made
// progress. Called after an event.
void TendMarks(Turn& turn);
// Lets rested workers take one trial again. Called when a timer fires.
void EndRests(Turn& turn);
// Begins the rests anew, at a start.
void BeginRests(State& state, Instant now);

}  // namespace dt
