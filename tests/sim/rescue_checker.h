// rescue_checker.h: finds attempts that end while survivors have more than one step beyond the
// newest checkpoint, and were not given the time to report or to save it; and rescues that have no
// end.
//
// Role:  pure, slow and simple; has limits of its own.
#pragma once

#include <map>
#include <set>
#include <string>

#include "coordinator/core/model/effects.h"
#include "coordinator/core/model/state.h"

namespace dt::sim {

class RescueChecker {
 public:
  // Returns the violation, or "".
  std::string AfterStep(const State& state, const Effects& effects, absl::Duration now);
  // A coordinator that was killed has to learn of its gangs again.
  void TakeRestart() {
    trained_.clear();
    rescued_since_.clear();
  }

 private:
  std::string CheckEnd(const State& state, const v1::AttemptEnded& fact, absl::Duration now) const;

  // Since when a rank of the attempt offers its state.
  std::map<AttemptId, absl::Duration> offered_since_;
  // When the ranks were first asked for what they hold.
  std::map<AttemptId, absl::Duration> asked_at_;
  // Since when this process lets the attempt's survivors save.
  std::map<AttemptId, absl::Duration> rescued_since_;
  std::set<AttemptId> trained_;  // seen to train, by this process
};

}  // namespace dt::sim
