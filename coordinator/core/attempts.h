// attempts.h: from what the ranks of an attempt report to its end, and the trial's.
//
// Tests: tests/coordinator/core/attempts_test.cc
#pragma once

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "coordinator/core/turn.h"

namespace dt {

struct RankEnd {
  int32_t rank = 0;
  v1::Cause cause = v1::CAUSE_UNSPECIFIED;
  std::string message;
  uint64_t step = 0;
};
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
// The worker holds nothing of its attempt any more, or is lost. The attempt may be gone afterwards.
void TakeRankGone(Turn& turn, Worker& worker);
// REQUIRES: the worker's attempt has ended. The attempt may be gone afterwards.
void ReleaseRank(Turn& turn, Worker& worker);
// Ends the attempt and perhaps its trial. The attempt may be gone afterwards.
void Settle(Turn& turn, LiveAttempt& attempt, const RankEnd& end);
// REQUIRES: CancelRequested has been applied; the trial is not ended.
void CancelTrial(Turn& turn, TrialId id, const std::string& reason);
void NoteProgress(LiveAttempt& attempt, uint64_t step, absl::Duration now);
void NoteRow(LiveAttempt& attempt, const v1::StepRow& row);

}  // namespace dt
