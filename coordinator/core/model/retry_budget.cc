#include "coordinator/core/model/retry_budget.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/client_trial.h"
#include "common/limits.h"
#include "common/mutant.h"
#include "common/text.h"
#include "coordinator/core/model/error_text.h"

namespace dt {
namespace {

// Counts the attempts in a row that ended by a fault of the worker, with the one that ends now.
uint32_t FaultsAtTheEnd(const Trial& trial) {
  uint32_t faults = 1;
  for (auto each = trial.attempts.rbegin() + 1; each != trial.attempts.rend(); ++each) {
    if (each->cause != v1::CAUSE_WORKER_FAULT) break;
    ++faults;
  }
  return faults;
}

// Counts the attempts in a row, up to the newest, that a full disk ended.
uint32_t FullDisks(const Trial& trial, const RankEnd& end) {
  uint32_t count = IsFullDisk(end.message) ? 1 : 0;
  if (count == 0) return 0;
  for (size_t number = trial.attempts.size() - 1; number > 0; --number) {
    if (!IsFullDisk(trial.attempts[number - 1].message)) break;
    ++count;
  }
  return count;
}

absl::Duration Doubled(absl::Duration first, uint32_t times) {
  for (uint32_t n = 0; n < times && first < limits::kRetryBackoffMax; ++n) first *= 2;
  return std::min(first, limits::kRetryBackoffMax);
}

}  // namespace

Charge ChargeOf(const Attempt& recorded, const RankEnd& end) {
  const bool crash = ConsequenceOf(end.cause) == Consequence::kRetriesCrash;
  if (crash && IsFullDisk(end.message)) return Charge::kFree;
  if (Mutated(Mutant::kStopCharged)) return Charge::kCounts;
  const bool drained = recorded.stop_why == v1::StopRequested::DRAINED;
  if (drained && Mutated(Mutant::kDrainCharged)) return Charge::kCounts;
  // A worker that was ordered to leave saved its state: that is no fault of the trial. Neither is a
  // failure of the host.
  if (recorded.AskedToStop() || end.cause == v1::CAUSE_PREEMPTED ||
      end.cause == v1::CAUSE_WORKER_FAULT) {
    return Charge::kFree;
  }
  return Charge::kCounts;
}

bool IsRetried(const LiveAttempt& attempt, v1::Cause cause) {
  switch (ConsequenceOf(cause)) {
    case Consequence::kRetriesCrash:
      // A client reported that its trial failed, so the client decides whether it tries again.
      return !IsClientTrial(attempt.spec.command());
    case Consequence::kRetriesLoss:
      return true;
    case Consequence::kFinishes:
    case Consequence::kCancels:
    case Consequence::kFails:
      return false;
  }
  return false;
}

std::optional<absl::Duration> BackoffOf(const LiveAttempt& attempt, const Trial& trial,
                                        const Tries& tries, const RankEnd& end) {
  const v1::Retries& retries = attempt.spec.retries();
  if (!IsRetried(attempt, end.cause)) return std::nullopt;
  const bool crash = ConsequenceOf(end.cause) == Consequence::kRetriesCrash;
  if (trial.attempts.size() >= limits::kAttemptsPerTrial) return std::nullopt;
  const Attempt& last = trial.attempts.back();
  const bool counts = ChargeOf(last, end) == Charge::kCounts;
  const uint32_t ends = crash ? tries.crashes : tries.losses;
  if (counts && ends > static_cast<uint32_t>(std::max(0, retries.max()))) return std::nullopt;
  const bool asked = last.AskedToStop() || (end.cause == v1::CAUSE_PREEMPTED && attempt.saving);
  if (!counts && asked) return absl::ZeroDuration();
  if (const uint32_t full = FullDisks(trial, end); full > 0) {
    return Doubled(limits::kFullDiskWait, full - 1);
  }
  absl::Duration first = absl::Seconds(std::max(0.0, retries.backoff_seconds()));
  if (end.cause == v1::CAUSE_WORKER_FAULT) {
    // No budget counts these: with a short backoff one full disk would cause thousands of attempts.
    first = std::max(first, limits::kWorkerFaultBackoff);
    return Doubled(first, FaultsAtTheEnd(trial) - 1);
  }
  if (ends <= 1) return crash || !counts ? Doubled(first, 0) : absl::ZeroDuration();
  return std::max(Doubled(first, ends - 1), Doubled(limits::kRetryBackoffLeast, ends - 2));
}

std::string LimitText(size_t attempts, const v1::Retries& retries) {
  return attempts >= limits::kAttemptsPerTrial
             ? absl::StrCat("the trial has had ", attempts, " attempts, and may have no more")
             : absl::StrCat("retries.max ", retries.max(), " is used up");
}

std::string WithReason(const std::string& message, const std::string& why) {
  if (message.empty()) return why;
  return absl::StrCat(CleanText(message, limits::kTextBytes - why.size() - 2), "; ", why);
}

std::string MessageOf(const LiveAttempt& attempt, const Trial& trial, const RankEnd& end) {
  const Attempt& recorded = trial.attempts.back();
  std::string why = recorded.stop_reason;
  const bool leaves = end.cause == v1::CAUSE_PREEMPTED;
  if (why.empty() && attempt.saving && leaves && attempt.ranks.size() > 1) {
    why = "a worker of the gang shuts down";
  }
  std::string message = end.message;
  // The worker reports only that the trainer did as ordered.
  constexpr absl::string_view kSaved = "the trainer saved and stopped";
  if (!recorded.progressed && absl::EndsWith(message, kSaved)) {
    message.replace(message.size() - kSaved.size(), kSaved.size(), "the trainer stopped");
  }
  if (!why.empty()) message = absl::StrCat(why, "; ", message);
  const bool stopped = leaves || recorded.AskedToStop();
  if (!stopped || recorded.stop_why == v1::StopRequested::MUTATED) return message;
  return absl::StrCat(message, "; ", GoesOnFrom(trial, std::max(attempt.step, end.step)));
}

std::string GoesOnFrom(const Trial& trial, uint64_t step) {
  const KnownCheckpoint* newest = NewestCheckpoint(trial);
  const uint64_t saved = newest == nullptr ? 0 : newest->ref.step();
  const uint64_t lost = step > saved ? step - saved : 0;
  std::string text = newest == nullptr ? std::string("nothing is saved: it starts over")
                                       : absl::StrCat("it goes on from step ", saved);
  if (lost > 0)
    absl::StrAppend(&text, ", and ", lost, lost == 1 ? " step is" : " steps are", " lost");
  return text;
}

}  // namespace dt
