// marking.h: who may be given work: drains that people ask for, and quarantines of workers that
// fail what others can do.
//
// Role:      decides and journals; marks.h folds the facts. Decisions read durable facts and the
//            steady clock alone: after a restart of the coordinator a quarantine's rest begins
//            anew.
// Tests:     tests/coordinator/core/marking_test.cc, tests/sim
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "coordinator/core/turn.h"
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

// Whether it takes no work: drained, or resting in quarantine.
bool IsHeld(const State& state, const std::string& worker);
WorkerState StateOf(const State& state, const Worker& worker);
// ", 2 more drained by ann": connected workers of this kind that take no work; "": none.
std::string HeldText(const State& state, DeviceKind device);

}  // namespace dt
