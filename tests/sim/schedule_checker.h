// schedule_checker.h: what must hold of who starts, and of who is asked to make room.
//
// Role: pure, but for what it remembers of the records before; computed from trials and workers,
//       not from lines, pools and reservations. Each sentence starts with the number of its
//       invariant in ARCHITECTURE.md.
// Cost: O(trials) an attempt started.
#pragma once

#include <map>
#include <set>
#include <string>

#include "absl/time/time.h"
#include "coordinator/core/effects.h"
#include "coordinator/core/state.h"

namespace dt::sim {

class ScheduleChecker {
 public:
  // After a Step: the first thing that does not hold, or "".
  std::string AfterStep(const State& state, const Effects& effects, absl::Duration now);
  // A process that starts anew protects anew. What does not hold of its reservations, or "".
  std::string TakeRestart(const State& state);

 private:
  // What was reserved for somebody after the Step before.
  struct Kept {
    std::string host;
    std::set<std::string> free;  // of its workers
    // Since when nothing is missing but what was lent; infinite: something else is.
    absl::Duration lent_since = absl::InfiniteDuration();
  };

  std::string CheckStop(const State& state, const v1::StopRequested& fact, absl::Duration now);
  std::string CheckGrowth(const State& state, const v1::StopRequested& fact, absl::Duration now);
  std::string CheckStart(const State& state, const v1::AttemptStarted& fact, absl::Duration now);
  std::string CheckKept(const State& state, const v1::AttemptStarted& fact);
  // Workers that were free for somebody else alone after the Step before.
  std::set<std::string> ReservedForOthers(const v1::AttemptStarted& fact) const;
  void NoteLoan(const v1::AttemptStarted& fact);
  std::string KeepBooks(const State& state, absl::Duration now);

  std::map<AttemptId, absl::Duration> trains_since_;
  std::set<AttemptId> lent_;  // that began on slots of a reservation
  std::map<TrialId, absl::Duration> resized_at_;
  std::map<TrialId, Kept> kept_;  // by holder
};

}  // namespace dt::sim
