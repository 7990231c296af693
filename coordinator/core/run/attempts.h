// attempts.h: follows the reports of ranks to the end of their attempt, and of the trial.
//
// Tests: tests/coordinator/core/attempts_test.cc, gang_end_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "coordinator/core/model/gang_end.h"
#include "coordinator/core/model/turn.h"

namespace dt {

// Takes the reported or concluded end of a rank. It decides the attempt's end, now or once a cause
// had time to appear.
void TakeRankEnd(Turn& turn, LiveAttempt& attempt, RankEnd end);
void SettleOverdue(Turn& turn, LiveAttempt& attempt);
// How a report shows that the worker does not hold the attempt of its orders: explicitly, or by
// leaving it out, which may also mean that the orders have not arrived.
enum class Absence { kGone, kLeftOut };
void TakeAbsence(Turn& turn, Worker& worker, Absence absence);
// Makes the gang save, as the worker shuts down. Saving needs all members: rank 0 writes the
// checkpoint, and the others stay until then.
void SaveGang(Turn& turn, Worker& worker);
// Notes that the worker has left its attempt, or is lost.
void TakeRankGone(Turn& turn, Worker& worker);
// Frees the worker's slot. REQUIRES: its attempt has ended.
void ReleaseRank(Turn& turn, Worker& worker);
// Takes the state that a rank keeps since a collective failed.
void NoteHolds(Turn& turn, LiveAttempt& attempt, RankState& rank, const v1::AttemptStatus& status);
// Ends the attempt, whose survivors have saved or are given up. REQUIRES: a rescue was begun.
void EndRescue(Turn& turn, LiveAttempt& attempt);
// Ends the attempt, and perhaps its trial.
void Settle(Turn& turn, LiveAttempt& attempt, const RankEnd& end);
// Cancels the trial. REQUIRES: CancelRequested has been applied; the trial has not ended.
void CancelTrial(Turn& turn, TrialId id, const std::string& reason);
// Ends the trial early, by a rule of its search. A trial that trained is finished, one that never
// trained is cancelled. Leaves a trial alone that has ended or is being cancelled.
void EndEarly(Turn& turn, TrialId id, const std::string& why);
// Counts and logs a report on this attempt that cannot be true and is left out.
void NoteDoubt(Turn& turn, Worker& worker, const AttemptId& id, const std::string& doubt);

}  // namespace dt
