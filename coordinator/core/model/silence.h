// silence.h: how long a gang may be silent, judged by its own progress so far.
//
// Role:  pure. Time limits of a training attempt, and of the leases of its members.
// Tests: tests/coordinator/core/silence_test.cc
#pragma once

#include <optional>

#include "absl/time/time.h"
#include "coordinator/core/model/live.h"

namespace dt {

// Level of workers whose trainers report when they do something longer than a step.
inline constexpr uint32_t kTellsPausesLevel = 2;

// Notes a report of the worker.
void NoteHeard(LiveState& live, Worker& worker, absl::Duration now);
// Returns the number of a question that measures the round trip, for orders that leave now; 0: it
// was measured a short time ago.
uint64_t NextPing(Worker& worker, absl::Duration now);
// Notes the answer to such a question, which the worker held back for `held`.
void NotePong(Worker& worker, uint64_t pong, absl::Duration held, absl::Duration now);
// Returns what the worker has shown of itself, and the steps of a gang that prove that it is alive.
Signs SignsOf(const Worker& worker);
// Returns whether a worker on another host was heard just now. Otherwise the silence may be the
// coordinator's own.
bool AreOthersHeard(const LiveState& live, const Worker& worker);

// Notes that the attempt is at `step`, or made other progress.
void NoteProgress(LiveAttempt& attempt, uint64_t step, absl::Duration now);
// Notes how long the gang took to write a checkpoint.
void NoteSave(LiveAttempt& attempt, absl::Duration took);
// Notes progress without steps: each part of a long evaluation, and the begin or end of long work.
// Any rank counts, as the others wait for it.
void NoteLongWork(LiveAttempt& attempt, RankState& rank, const v1::AttemptStatus& status,
                  absl::Duration now);

// Returns until when the worker is alive by the steps of its gang: its peers step only with it.
// Returns nullopt if the gang shows nothing.
std::optional<absl::Duration> AliveByItsGang(const Worker& worker);

// Returns the first rank whose worker is not heard: its stream is closed, or it was silent for half
// a lease. For a gang that makes no steps. Returns -1 if all are heard.
int32_t RankNotHeard(const LiveState& live, const LiveAttempt& attempt, absl::Duration now);

// Returns the rank that is known to be gone: its worker closed its stream since the start of the
// coordinator and reported no end, while a peer's collective failed. Returns -1 if there is no such
// rank.
int32_t RankGoneByEvidence(const LiveState& live, const LiveAttempt& attempt);

}  // namespace dt
