#include "coordinator/core/retrying.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/mutant.h"
#include "common/text.h"

namespace dt {
namespace {

// How many attempts in a row ended so, with the one that ends now.
uint32_t FaultsAtTheEnd(const Trial& trial) {
  uint32_t faults = 1;
  for (auto each = trial.attempts.rbegin() + 1; each != trial.attempts.rend(); ++each) {
    if (each->cause != v1::CAUSE_WORKER_FAULT) break;
    ++faults;
  }
  return faults;
}

}  // namespace

Charge ChargeOf(const Attempt& recorded, v1::Cause cause) {
  if (Mutated(Mutant::kStopCharged)) return Charge::kCounts;
  const bool drained = recorded.stop_why == v1::StopRequested::DRAINED;
  if (drained && Mutated(Mutant::kDrainCharged)) return Charge::kCounts;
  // A worker that was told to leave saved what it had: its user did not do it. Nor is what a host
  // fails to give the trial's doing.
  if (recorded.AskedToStop() || cause == v1::CAUSE_PREEMPTED || cause == v1::CAUSE_WORKER_FAULT) {
    return Charge::kFree;
  }
  return Charge::kCounts;
}

std::optional<absl::Duration> BackoffOf(const Trial& trial, const Tries& tries,
                                        const v1::Retries& retries, v1::Cause cause) {
  const Consequence consequence = ConsequenceOf(cause);
  const bool crash = consequence == Consequence::kRetriesCrash;
  if (!crash && consequence != Consequence::kRetriesLoss) return std::nullopt;
  if (trial.attempts.size() >= limits::kAttemptsPerTrial) return std::nullopt;
  const Attempt& last = trial.attempts.back();
  const bool counts = ChargeOf(last, cause) == Charge::kCounts;
  uint32_t ends = crash ? tries.crashes : tries.losses;
  if (counts && ends > static_cast<uint32_t>(std::max(0, retries.max()))) return std::nullopt;
  if (!counts && last.AskedToStop()) return absl::ZeroDuration();
  absl::Duration backoff = absl::Seconds(std::max(0.0, retries.backoff_seconds()));
  if (cause == v1::CAUSE_WORKER_FAULT) {
    // These are in no count: with a short backoff one full disk would make thousands of attempts.
    ends = FaultsAtTheEnd(trial);
    backoff = std::max(backoff, limits::kWorkerFaultBackoff);
  }
  for (uint32_t n = 1; n < ends && backoff < limits::kRetryBackoffMax; ++n) backoff *= 2;
  return std::min(backoff, limits::kRetryBackoffMax);
}

std::string WithLimit(const std::string& message, size_t attempts, const v1::Retries& retries) {
  std::string limit =
      attempts >= limits::kAttemptsPerTrial
          ? absl::StrCat("the trial has had ", attempts, " attempts, and may have no more")
          : absl::StrCat("retries.max ", retries.max(), " is used up");
  if (message.empty()) return limit;
  return absl::StrCat(CleanText(message, limits::kTextBytes - limit.size() - 2), "; ", limit);
}

std::string MessageOf(const LiveAttempt& attempt, const Attempt& recorded, v1::Cause cause,
                      const std::string& message) {
  std::string why = recorded.stop_reason;
  const bool drains = attempt.saving && cause == v1::CAUSE_PREEMPTED && attempt.ranks.size() > 1;
  if (why.empty() && drains) why = "a worker of the gang shuts down";
  return why.empty() ? message : absl::StrCat(why, "; ", message);
}

}  // namespace dt
