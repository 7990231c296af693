// attempts.h: from what the ranks of an attempt report to its end, and the trial's.
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

// A rank's end is told or concluded; decides the attempt's, now or when a cause had time to show.
void TakeRankEnd(Turn& turn, LiveAttempt& attempt, RankEnd end);
void SettleOverdue(Turn& turn, LiveAttempt& attempt);
// Live state of the rank that `worker` holds.
void TakeStatus(Turn& turn, Worker& worker, v1::AttemptStatus& status);
// A report says that the worker does not hold the attempt of its orders: explicitly, or by leaving
// it out, which may also mean that the orders have not arrived.
enum class Absence { kGone, kLeftOut };
void TakeAbsence(Turn& turn, Worker& worker, Absence absence);
// The worker shuts down. Its attempt needs all members to save: rank 0 writes the checkpoint, and
// the others keep it company until then.
void SaveGang(Turn& turn, Worker& worker);
// The worker holds nothing of its attempt any more, or is lost.
void TakeRankGone(Turn& turn, Worker& worker);
// REQUIRES: the worker's attempt has ended.
void ReleaseRank(Turn& turn, Worker& worker);
// Ends the attempt and perhaps its trial.
void Settle(Turn& turn, LiveAttempt& attempt, const RankEnd& end);
// The live half of an attempt that is recorded, on the workers of its gang by rank. The caller
// gives it its specification and arms its timer.
LiveAttempt& AddLiveAttempt(State& state, const AttemptId& id, Phase phase,
                            const std::vector<WorkerIndex>& gang);
// At the end of a Step: attempts that nobody holds any more. Until then they are there, for whoever
// had a part in their end.
void FreeLeft(LiveState& live);
// REQUIRES: CancelRequested has been applied; the trial is not ended.
void CancelTrial(Turn& turn, TrialId id, const std::string& reason);
// A rule of its search ends the trial before its time: one that trained is finished with what it
// has, one that never did is cancelled. One that has ended, or is being cancelled, stays as it is.
void EndEarly(Turn& turn, TrialId id, const std::string& why);
// The worker told of this attempt what cannot be true; it is left out and counted.
void NoteDoubt(Turn& turn, Worker& worker, const AttemptId& id, const std::string& doubt);
void NoteRow(LiveAttempt& attempt, const v1::StepRow& row);

}  // namespace dt
