// silence.h: what a gang's silence means: by what it has shown of itself, how long it may be.
//
// Role:  pure. Bounds of an attempt in training, and of the leases of its members.
// Tests: tests/coordinator/core/silence_test.cc
#pragma once

#include <optional>

#include "absl/time/time.h"
#include "coordinator/core/model/live.h"

namespace dt {

// The level of workers whose trainers say when they do what takes longer than a step.
inline constexpr uint32_t kTellsPausesLevel = 2;

// It is at `step`, or did what counts as much.
void NoteProgress(LiveAttempt& attempt, uint64_t step, absl::Duration now);
// A long evaluation makes no step. Any rank's part counts, as any rank's step does: the others wait
// for it. So does that it begins or ends what takes long.
void NoteLongWork(LiveAttempt& attempt, RankState& rank, const v1::AttemptStatus& status,
                  absl::Duration now);

// Until when the worker is alive by what its gang does: its peers step only with it. Nothing where
// its gang shows nothing.
std::optional<absl::Duration> AliveByItsGang(const Worker& worker);

// The rank of a gang without steps whose worker is not heard either: its stream is closed, or it
// was silent for half a lease. -1: all are heard.
int32_t RankNotHeard(const LiveState& live, const LiveAttempt& attempt, absl::Duration now);

// The rank that is known to be gone: its worker closed its stream in this life of the coordinator,
// and tells no end, while a peer's collective failed. -1: there is none.
int32_t RankGoneByEvidence(const LiveState& live, const LiveAttempt& attempt);

}  // namespace dt
