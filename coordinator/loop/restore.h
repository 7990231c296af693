// restore.h: rebuilds the state from a journal.
//
// Role:      folds records into a State and into the counters of /metrics. Begins at the newest
//            readable snapshot, or else at the first record.
// Threads:   thread-compatible.
// Errors:    those of the journal: DataLoss if it is inconsistent.
// Invariant: the state does not depend on the snapshot at which the fold begins.
// Tests:     tests/coordinator/loop/restore_test.cc
#pragma once

#include <functional>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "coordinator/core/model/state.h"
#include "coordinator/metrics/metrics_model.h"
#include "coordinator/store/store.h"

namespace dt {

// The state after the journal's newest record; only its durable part is set.
struct Folded {
  State state;
  JournalPlace place;
  int64_t wall_ms = 0;  // of the newest record that was read
};
// Folds the journal. `metrics` must not have counted anything yet. Calls `visited` for each record.
absl::StatusOr<Folded> FoldJournal(JournalReader& journal, MetricsModel& metrics,
                                   const std::function<void()>& visited);

// Returns a State ready for its first Step. Writes the journal's first record if there is none.
// `own_receiver` is LiveState's.
absl::StatusOr<State> Restore(Store& store, const Clock& clock, MetricsModel& metrics,
                              const std::function<void()>& visited,
                              const v1::Notify& own_receiver = {},
                              const GangProtection& protection = {});

// Returns a snapshot of the state after the newest record. Errors: Internal if the snapshot does
// not restore the same state, or is too large.
absl::StatusOr<StoredSnapshot> MakeSnapshot(JournalReader& journal);

}  // namespace dt
