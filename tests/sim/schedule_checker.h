// schedule_checker.h: checks which trials start, and which are asked to make room.
//
// Role: pure, except for its memory of earlier records; computed from trials and workers, not from
//       lines, pools and reservations. Each sentence starts with the number of its invariant in
//       ARCHITECTURE.md.
// Cost: O(trials) for each attempt started.
#pragma once

#include <map>
#include <set>
#include <string>

#include "absl/time/time.h"
#include "coordinator/core/model/effects.h"
#include "coordinator/core/model/state.h"

namespace dt::sim {

class ScheduleChecker {
 public:
  // Checks after a Step. Returns the first violation, or "".
  std::string AfterStep(const State& state, const Effects& effects, absl::Duration now);
  // Notes a restart, after which the process makes its reservations anew. Returns their violation,
  // or "".
  std::string TakeRestart(const State& state);

 private:
  // The slots reserved for a trial after the last Step.
  struct Kept {
    std::string host;
    std::set<std::string> free;  // free ones of its workers
    // Since when only lent slots are missing; infinite if others are missing.
    absl::Duration lent_since = absl::InfiniteDuration();
  };

  std::string CheckStop(const State& state, const v1::StopRequested& fact, absl::Duration now);
  std::string CheckGrowth(const State& state, const v1::StopRequested& fact, absl::Duration now);
  std::string CheckStart(const State& state, const v1::AttemptStarted& fact, absl::Duration now);
  std::string CheckKept(const State& state, const v1::AttemptStarted& fact);
  // Returns the workers that were free only for another trial after the last Step.
  std::set<std::string> ReservedForOthers(const v1::AttemptStarted& fact) const;
  void NoteLoan(const v1::AttemptStarted& fact);
  std::string KeepBooks(const State& state, absl::Duration now);

  std::map<AttemptId, absl::Duration> trains_since_;
  std::set<AttemptId> lent_;  // attempts that began on slots of a reservation
  std::map<TrialId, absl::Duration> resized_at_;
  std::map<TrialId, Kept> kept_;  // key: holder
};

}  // namespace dt::sim
