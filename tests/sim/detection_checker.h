// detection_checker.h: finds losses and hangs that are seen too late, and those without evidence:
// judged from the live state before and after each event, with limits of its own.
//
// Role:  pure, slow and simple; shares no code with patience.cc and silence.cc of
//        coordinator/core/model.
#pragma once

#include <map>
#include <string>

#include "coordinator/core/model/effects.h"
#include "coordinator/core/model/state.h"

namespace dt::sim {

class DetectionChecker {
 public:
  // Returns the violation, or "".
  std::string AfterStep(const State& state, const Effects& effects, absl::Duration now);
  void TakeRestart() {
    workers_.clear();
    paused_since_.clear();
  }

 private:
  struct Known {
    Presence presence = Presence::kLost;
    StreamId stream = 0;
    bool draining = false;
    absl::Duration last_heard, closed_at;
    // When the steps of its gang last proved it alive, though its stream had closed.
    absl::Duration proven_at = -absl::InfiniteDuration();
  };
  std::string CheckLoss(const State& state, const Worker& worker, const Known& before,
                        absl::Duration now) const;
  // Also notes that the worker is proven alive.
  static std::string CheckClosed(const Worker& worker, Known& known, absl::Duration now);
  static std::string CheckHang(const State& state, const LiveAttempt& attempt, absl::Duration now);

  std::map<std::string, Known> workers_;
  // Since the newest sign of gangs of which a rank announced that it saves.
  std::map<AttemptId, absl::Duration> paused_since_;
};

}  // namespace dt::sim
