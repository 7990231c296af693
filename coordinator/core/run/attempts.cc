#include "coordinator/core/run/attempts.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/check.h"
#include "common/limits.h"
#include "common/mutant.h"
#include "common/text.h"
#include "coordinator/core/keep/journal.h"
#include "coordinator/core/keep/orders.h"
#include "coordinator/core/keep/queue.h"
#include "coordinator/core/keep/slots.h"
#include "coordinator/core/keep/timers.h"
#include "coordinator/core/model/gang_end.h"
#include "coordinator/core/model/plausibility.h"
#include "coordinator/core/model/retry_budget.h"
#include "coordinator/core/model/silence.h"
#include "coordinator/core/place/apart.h"
#include "coordinator/core/run/data_hold.h"
#include "coordinator/core/run/early_ends.h"
#include "coordinator/core/run/notifications.h"
#include "coordinator/core/run/peers.h"
#include "coordinator/core/run/rescue.h"
#include "spec/program.h"

namespace dt {
namespace {

void EndTrial(Turn& turn, TrialId id, v1::TrialState state, v1::Cause cause,
              const std::string& message) {
  v1::Record record;
  v1::TrialEnded& fact = *record.mutable_trial_ended();
  SetId(fact, {id, 0});
  fact.set_state(state);
  fact.set_cause(cause);
  fact.set_message(CleanText(message, limits::kTextBytes));
  Journal(turn, std::move(record));
}

// Ends a trial that has no gang.
void EndWaiting(Turn& turn, TrialId id, v1::TrialState state, v1::Cause cause,
                const std::string& message) {
  Withdraw(turn.state, id);
  turn.live().without_storage.erase(id);
  EndTrial(turn, id, state, cause, message);
}

// End of an attempt, and its consequences.
struct Ending {
  const RankEnd& end;
  std::optional<absl::Duration> backoff;  // before the next attempt; nullopt: no attempt follows
  Charge charge = Charge::kCounts;
  bool early = false;
};

v1::Record EndOfAttempt(const LiveAttempt& attempt, const Trial& trial, const Ending& ending,
                        absl::Duration now) {
  const auto& [end, backoff, charge, early] = ending;
  v1::Record record;
  v1::AttemptEnded& fact = *record.mutable_attempt_ended();
  SetId(fact, attempt.id);
  fact.set_cause(end.cause);
  fact.set_message(CleanText(backoff.has_value() ? MessageOf(attempt, trial, end) : end.message,
                             limits::kTextBytes));
  fact.set_uncharged(backoff.has_value() && charge == Charge::kFree);
  fact.set_early(early);
  fact.set_rank(end.rank);
  if (end.rank >= 0) fact.set_worker(trial.attempts.back().members[end.rank].worker);
  fact.set_step(std::max(attempt.step, end.step));
  fact.set_hint(attempt.hint);
  if (trial.attempts.back().ran) {
    // Not 0, which means unknown.
    fact.set_trained_ms(
        std::max<int64_t>(1, absl::ToInt64Milliseconds(now - attempt.training_since)));
  }
  fact.set_retry_after_ms(backoff.has_value() ? absl::ToInt64Milliseconds(*backoff) : -1);
  if (attempt.latest.has_value()) *fact.mutable_last_row() = *attempt.latest;
  if (attempt.pace.tokens() > 0) *fact.mutable_pace() = attempt.pace;
  return record;
}

// Logs only ends on which an operator may want to act: thousands per second may finish.
void LogEnd(Turn& turn, const LiveAttempt& attempt, const RankEnd& end,
            std::optional<absl::Duration> backoff) {
  if (ConsequenceOf(end.cause) == Consequence::kFinishes) return;
  turn.effects.log_lines.push_back(absl::StrCat(
      "attempt ", ToString(attempt.id), " ended: ", View(Name(end.cause)),
      end.rank >= 0 ? absl::StrCat(" on rank ", end.rank) : std::string(),
      end.message.empty() ? "" : ": ", end.message,
      backoff.has_value() ? absl::StrCat("; next attempt in ", absl::FormatDuration(*backoff))
                          : std::string()));
}

// Releases members of an ended attempt that had left before its end.
void ReleaseGone(Turn& turn, LiveAttempt& attempt) {
  std::vector<WorkerIndex> gone;
  for (const RankState& rank : attempt.ranks) {
    if (rank.gone && rank.worker != kNoWorker) gone.push_back(rank.worker);
  }
  for (const WorkerIndex member : gone) ReleaseRank(turn, turn.live().workers[member]);
}

// Makes members leave once the end is recorded and the trial is not active.
void LeaveEnded(Turn& turn, LiveAttempt& attempt) {
  DT_CHECK(FindAttempt(turn.durable(), attempt.id)->state == AttemptState::kEnded);
  DT_CHECK(!IsActive(GetTrial(turn.durable(), attempt.id.trial).state));
  attempt.Enter(Leaving{});
  DisarmAttempt(turn.live(), attempt);
  ShortenLeases(turn.live(), attempt);
  MarkMembersDue(turn.live(), attempt);
  NoteInactive(turn.state, attempt.id.trial);
  ReleaseGone(turn, attempt);
}

void FinishCancel(Turn& turn, LiveAttempt& attempt) {
  const TrialId id = attempt.id.trial;
  const RankEnd end{.rank = -1,
                    .cause = v1::CAUSE_CANCELLED,
                    .message = GetTrial(turn.durable(), id).message,
                    .step = attempt.step};
  LogEnd(turn, attempt, end, std::nullopt);
  Journal(turn, EndOfAttempt(attempt, GetTrial(turn.durable(), id),
                             {.end = end, .backoff = std::nullopt}, turn.now.steady));
  EndTrial(turn, id, v1::TRIAL_CANCELLED, v1::CAUSE_CANCELLED, end.message);
  LeaveEnded(turn, attempt);
}

// Waits for the deciding end, after a rank reported an end that does not decide.
void AwaitCause(Turn& turn, LiveAttempt& attempt, v1::Cause told) {
  if (ConsequenceOf(told) == Consequence::kFinishes) return;
  const bool saves = MaySave(attempt);
  absl::Duration until =
      turn.now.steady +
      (saves ? limits::StopGrace(attempt.spec.timeout().stop_seconds()) : limits::kAbandonGrace);
  if (const auto* settling = std::get_if<Settling>(&attempt.phase)) {
    until = saves ? std::max(settling->until, until) : std::min(settling->until, until);
  }
  if (RankGoneByEvidence(turn.live(), attempt) >= 0) {
    until = std::min(until, turn.now.steady + limits::kEvidenceGrace);
  }
  attempt.Enter(Settling{until});
  ArmAttempt(turn.live(), attempt);
  ShortenLeases(turn.live(), attempt);
}

// Returns a member that is not heard, which may be the cause of its peers' symptom, or nullptr.
const Worker* QuietMember(const LiveState& live, const LiveAttempt& attempt, absl::Duration now) {
  for (const RankState& rank : attempt.ranks) {
    if (rank.worker == kNoWorker || rank.end != v1::CAUSE_UNSPECIFIED) continue;
    const Worker& worker = live.workers[rank.worker];
    if (worker.stream == 0 || now - worker.last_heard >= 3 * limits::kHeartbeat) return &worker;
  }
  return nullptr;
}

// Ends the attempt, now or after a survivor has saved.
void EndGang(Turn& turn, LiveAttempt& attempt, const RankEnd& end) {
  if (!BeginRescue(turn, attempt, end)) Settle(turn, attempt, end);
}

void GoOn(Turn& turn, LiveAttempt& attempt) {
  if (!GoOnRescuing(turn, attempt)) EndRescue(turn, attempt);
}

// Ends an attempt of which no rank reported a cause.
void EndBySymptom(Turn& turn, LiveAttempt& attempt) {
  // A rank that was ordered to stop is the cause of its peers' failed collectives.
  int32_t told = RankWithEnd(attempt, v1::CAUSE_PREEMPTED);
  if (told < 0) told = RankWithSymptom(attempt);
  DT_CHECK(told >= 0);  // else it would not be Settling
  const RankState& rank = attempt.ranks[told];
  const bool ended = rank.end != v1::CAUSE_UNSPECIFIED;
  EndGang(turn, attempt,
          {.rank = told,
           .cause = ended ? rank.end : v1::CAUSE_COLLECTIVE,
           .message = ended ? rank.end_message : "a collective failed, and no rank ended",
           .step = attempt.step});
}

}  // namespace

void NoteDoubt(Turn& turn, Worker& worker, const AttemptId& id, const std::string& doubt) {
  ++turn.live().doubted;
  // Log the 1st, 2nd, 4th, 8th … implausible report, so that a faulty worker cannot flood the log.
  if (!std::has_single_bit(++worker.doubted)) return;
  turn.effects.log_lines.push_back(absl::StrCat("worker ", worker.name, ", attempt ", ToString(id),
                                                ": left out, it cannot be: ", doubt, " (",
                                                worker.doubted, " from this worker)"));
}

void Settle(Turn& turn, LiveAttempt& attempt, const RankEnd& end) {
  DT_CHECK(attempt.Open());  // an attempt ends once
  const TrialId id = attempt.id.trial;
  const Trial& trial = GetTrial(turn.durable(), id);
  const Attempt& recorded = *FindAttempt(turn.durable(), attempt.id);
  const Consequence consequence = ConsequenceOf(end.cause);
  Ending ending{.end = end, .charge = ChargeOf(recorded, end)};
  ending.early = IsEarly(turn, attempt, end);
  const Tries tries = CountEnd(trial.tries, recorded, end.cause, ending.charge);
  const bool holds = HoldsExperiment(turn.state, attempt, end);
  ending.backoff =
      holds ? std::optional(absl::ZeroDuration()) : BackoffOf(attempt, trial, tries, end);
  const std::optional<std::string> alike = ending.early && ending.backoff.has_value()
                                               ? EndsAlike(turn.state, attempt, end)
                                               : std::nullopt;
  if (alike.has_value() && !holds) ending.backoff.reset();
  const std::optional<absl::Duration> backoff = ending.backoff;
  LogEnd(turn, attempt, end, backoff);
  NoteApart(turn.live(), attempt, recorded, end.cause, turn.now.steady);
  Journal(turn, EndOfAttempt(attempt, trial, ending, turn.now.steady));
  if (end.cause == v1::CAUSE_FINISHED) turn.live().told.erase(attempt.token);
  if (!backoff.has_value()) {
    const bool finished = consequence == Consequence::kFinishes;
    const bool retried = IsRetried(attempt, end.cause);
    const std::string why =
        alike.has_value() ? *alike : LimitText(trial.attempts.size(), attempt.spec.retries());
    EndTrial(turn, id, finished ? v1::TRIAL_FINISHED : v1::TRIAL_FAILED, end.cause,
             retried ? WithReason(end.message, why) : end.message);
  }
  LeaveEnded(turn, attempt);
  if (backoff.has_value() && !Mutated(Mutant::kRetryForgotten)) {
    if (*backoff > absl::ZeroDuration()) {
      Park(turn.state, id,
           {.why = ParkedTrial::Why::kBackoff,
            .until = turn.now.steady + *backoff,
            .storage_id = {}});
    } else {
      Enqueue(turn.state, id);
    }
  }
  if (holds) HoldExperiment(turn, attempt.id, end);
}

void EndRescue(Turn& turn, LiveAttempt& attempt) {
  Settle(turn, attempt, RankEnd(attempt.rescue->end));
}

void TakeRankEnd(Turn& turn, LiveAttempt& attempt, RankEnd end) {
  RankState& rank = attempt.ranks[end.rank];
  if (rank.end != v1::CAUSE_UNSPECIFIED) return;
  // Nobody cancelled this trial: the trainer was stopped from outside, for example at a shutdown.
  if (end.cause == v1::CAUSE_CANCELLED && !attempt.Is<Cancelling>())
    end.cause = v1::CAUSE_PREEMPTED;
  rank.end = end.cause;
  rank.end_message = end.message;
  if (!attempt.Open()) return;
  if (attempt.rescue.has_value()) return GoOn(turn, attempt);
  if (Decides(end)) return EndGang(turn, attempt, end);
  AwaitCause(turn, attempt, end.cause);
  if (attempt.Is<Settling>() && AllRanksEnded(attempt)) {
    attempt.Enter(Settling{turn.now.steady});
    SettleOverdue(turn, attempt);
  }
}

void NoteHolds(Turn& turn, LiveAttempt& attempt, RankState& rank, const v1::AttemptStatus& status) {
  if (rank.end != v1::CAUSE_UNSPECIFIED) return;
  if (!attempt.Is<Training>() && !attempt.Is<Settling>()) return;
  const bool first = !rank.holds.has_value();
  const bool all = TakeHolds(attempt, rank, status);
  if (attempt.rescue.has_value()) return GoOn(turn, attempt);
  if (first) AwaitCause(turn, attempt, v1::CAUSE_COLLECTIVE);
  // Rank 0 may have been ordered to save and stop just after its collective failed.
  if (all && !MaySave(attempt)) EndBySymptom(turn, attempt);
}

void SettleOverdue(Turn& turn, LiveAttempt& attempt) {
  DT_CHECK(attempt.Open());
  if (attempt.rescue.has_value()) return GoOn(turn, attempt);
  if (!attempt.Is<Settling>() && attempt.absent_since + limits::kLease <= turn.now.steady) {
    TakeRankEnd(
        turn, attempt,
        {.rank = 0,
         .cause = v1::CAUSE_TRAINER_CRASH,
         .message = absl::StrCat("worker ", turn.live().workers[attempt.ranks[0].worker].name,
                                 " does not hold the attempt and did not say why"),
         .step = attempt.step,
         // An error that it reported would have ended the attempt at once.
         .died = true});
    return;
  }
  if (!attempt.Is<Settling>()) {
    const int32_t lost = RankNotHeard(turn.live(), attempt, turn.now.steady);
    if (lost >= 0) {
      const Worker& worker = turn.live().workers[attempt.ranks[lost].worker];
      EndGang(turn, attempt,
              {.rank = lost,
               .cause = v1::CAUSE_WORKER_LOST,
               .message = absl::StrCat("worker ", worker.name, " is not heard; ",
                                       TimeoutMessage(turn.durable(), attempt, turn.now.steady)),
               .step = attempt.step});
      return;
    }
    if (AskPeers(turn, attempt) || GoOnMeeting(turn, attempt)) return;
    const bool cut = !attempt.question.cut.empty();
    EndGang(turn, attempt,
            {.rank = -1,
             .cause = cut ? v1::CAUSE_NETWORK : v1::CAUSE_HANG,
             .message = absl::StrCat(TimeoutMessage(turn.durable(), attempt, turn.now.steady),
                                     PeersText(turn.live(), attempt)),
             .step = attempt.step});
    return;
  }
  if (const int32_t gone = RankGoneByEvidence(turn.live(), attempt); gone >= 0) {
    const Worker& worker = turn.live().workers[attempt.ranks[gone].worker];
    EndGang(turn, attempt,
            {.rank = gone,
             .cause = v1::CAUSE_WORKER_LOST,
             .message = absl::StrCat("the stream of worker ", worker.name,
                                     " closed, and a collective of its peers failed"),
             .step = attempt.step});
    return;
  }
  if (const Worker* quiet = QuietMember(turn.live(), attempt, turn.now.steady)) {
    // Its lease decides, within limits::kLease. This checks again just after, or soon, if only the
    // silence of other hosts holds the lease.
    attempt.Enter(Settling{std::max(LeaseEnd(turn.live(), *quiet) + absl::Milliseconds(1),
                                    turn.now.steady + limits::kHeartbeat / 10)});
    ArmAttempt(turn.live(), attempt);
    return;
  }
  EndBySymptom(turn, attempt);
}

void TakeAbsence(Turn& turn, Worker& worker, Absence absence) {
  LiveAttempt& attempt = *worker.attempt;
  RankState& rank = attempt.ranks[worker.rank];
  if (!attempt.Open()) {
    if (absence == Absence::kGone || rank.seen) TakeRankGone(turn, worker);
    return;
  }
  // The rank left before the others. Its slot is free as soon as the attempt has ended, not only
  // with this worker's next heartbeat.
  if (absence == Absence::kGone) rank.gone = true;
  if (rank.gone && attempt.rescue.has_value()) return GoOn(turn, attempt);
  // Orders may be on their way, or the item with the end behind others. But an end that was taken
  // just before a restart of the coordinator is not reported again.
  if (worker.rank > 0 || rank.end != v1::CAUSE_UNSPECIFIED) return;
  if (attempt.absent_since < absl::InfiniteDuration()) return;
  attempt.absent_since = turn.now.steady;
  ArmAttempt(turn.live(), attempt);
}

void SaveGang(Turn& turn, Worker& worker) {
  LiveAttempt* attempt = worker.attempt;
  if (attempt == nullptr || attempt->AboutToLeave()) return;
  attempt->saving = true;
  MarkMembersDue(turn.live(), *attempt);
}

void TakeRankGone(Turn& turn, Worker& worker) {
  LiveAttempt& attempt = *worker.attempt;
  if (attempt.Is<Leaving>()) return ReleaseRank(turn, worker);
  // A gang that is being cancelled keeps all its slots until the last member has left. Until then
  // the attempt has not ended, and a slot is never given to two attempts that have not ended.
  attempt.ranks[worker.rank].gone = true;
  const bool all = std::all_of(attempt.ranks.begin(), attempt.ranks.end(),
                               [](const RankState& rank) { return rank.gone; });
  if (attempt.Is<Cancelling>() && all) FinishCancel(turn, attempt);
}

void ReleaseRank(Turn& turn, Worker& worker) {
  LiveAttempt& attempt = *worker.attempt;
  DT_CHECK(attempt.Is<Leaving>() && attempt.holders > 0);
  DT_CHECK(attempt.ranks[worker.rank].worker == worker.index);
  attempt.ranks[worker.rank].worker = kNoWorker;
  --attempt.holders;
  worker.attempt = nullptr;
  worker.rank = 0;
  MarkOrdersDue(turn.live(), worker);
  UpdateSlot(turn.state, worker);
  if (attempt.holders > 0) return;
  turn.live().left.push_back(attempt.token);
  // An elastic trial may have waited for the last of its slots, whoever gets it.
  if (turn.live().lines.Contains(attempt.id.trial)) RetryLines(turn.live());
}

void CancelTrial(Turn& turn, TrialId id, const std::string& reason) {
  const Trial& trial = GetTrial(turn.durable(), id);
  if (trial.state == v1::TRIAL_PENDING) {
    return EndWaiting(turn, id, v1::TRIAL_CANCELLED, v1::CAUSE_CANCELLED, reason);
  }
  const auto found = turn.live().attempts.find(trial.attempts.back().token);
  DT_CHECK(found != turn.live().attempts.end());
  LiveAttempt& attempt = *found->second;
  if (attempt.Is<Cancelling>()) return;
  attempt.Enter(Cancelling{});
  DisarmAttempt(turn.live(), attempt);
  ShortenLeases(turn.live(), attempt);
  if (!Mutated(Mutant::kCancelUnsent)) MarkMembersDue(turn.live(), attempt);
}

void EndEarly(Turn& turn, TrialId id, const std::string& why) {
  const Trial& trial = GetTrial(turn.durable(), id);
  if (IsTerminal(trial.state)) return;
  if (trial.state == v1::TRIAL_PENDING) {
    const bool ran = std::any_of(trial.attempts.begin(), trial.attempts.end(),
                                 [](const Attempt& one) { return one.ran && !one.early; });
    return EndWaiting(turn, id, ran ? v1::TRIAL_FINISHED : v1::TRIAL_CANCELLED,
                      v1::CAUSE_STOPPED_EARLY, why);
  }
  LiveAttempt& attempt = *turn.live().attempts.at(trial.attempts.back().token);
  if (!attempt.Open()) return;
  Settle(turn, attempt,
         {.rank = -1, .cause = v1::CAUSE_STOPPED_EARLY, .message = why, .step = attempt.step});
}

}  // namespace dt
