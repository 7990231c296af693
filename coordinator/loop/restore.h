// restore.h: the state that a journal leads to.
//
// Role:      folds records into a State and into the counters of /metrics, from the newest snapshot
//            on that can be read, else from the first record.
// Threads:   thread-compatible.
// Errors:    those of the journal: DataLoss where it does not hold together.
// Invariant: the state is the same from whichever snapshot the fold begins.
// Tests:     tests/coordinator/loop/restore_test.cc
#pragma once

#include <functional>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "coordinator/core/state.h"
#include "coordinator/metrics/metrics_model.h"
#include "coordinator/store/store.h"

namespace dt {

// The state after the journal's newest record, durable part alone.
struct Folded {
  State state;
  JournalPlace place;
  int64_t wall_ms = 0;  // of the newest record that was read
};
// `metrics` is one that has counted nothing. `visited` is called for each record.
absl::StatusOr<Folded> FoldJournal(JournalReader& journal, MetricsModel& metrics,
                                   const std::function<void()>& visited);

// A State that is ready for its first Step; writes the journal's first record where there is none.
// `own_receiver` is LiveState's.
absl::StatusOr<State> Restore(Store& store, const Clock& clock, MetricsModel& metrics,
                              const std::function<void()>& visited,
                              const v1::Notify& own_receiver = {}, const Patience& patience = {});

// The state after the newest record, as the store keeps it. Errors: Internal when it would not come
// back as it is, or is too large for a snapshot.
absl::StatusOr<StoredSnapshot> MakeSnapshot(JournalReader& journal);

}  // namespace dt
