// plan_queue.h: what the trials of a draft would find before them: slots that others have, trials
// that go first, and those of a lower priority that would make room.
//
// Role:    pure. planning.h says how long the draft's own trials take.
// Cost:    every connected worker, and every experiment that has not ended times the workers until
//          one is found that both would take.
// Bounds:  kTrialsNamed in a note.
// Tests:   tests/coordinator/core/planning_test.cc
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "coordinator/core/model/state.h"
#include "coordinator/core/place/preemption.h"
#include "plan/finish.h"

namespace dt {

struct Wanted {
  Constraint constraint;
  int32_t priority = 0;
  bool single_node = false;
};

struct QueueAhead {
  // Seconds from now, of each slot that would do. One whose trial has a lower priority is free once
  // that may be asked to leave, and has saved.
  std::vector<double> free_at;
  std::vector<plan::Batch> before;
  bool known = true;     // how long all of that takes
  uint64_t waiting = 0;  // trials of `before`, those among them that a search has still to propose
  std::vector<std::string> notes;  // for what the first trial waits, sentences
};

// Whether it is there, and would be given a trial that asks for this.
bool TakesWork(const State& state, const Worker& worker, const Constraint& constraint);

// A trial that has slots that would do.
struct Holder {
  TrialId id;
  StopOrder order;
  double ends = -1;      // seconds from now; negative: not known
  double leaves = 0;     // where it may be asked to
  size_t slots = 0;      // of those that would do
  bool yields = false;   // its priority is lower
  bool leaving = false;  // its slots are about to be free
};

// Slots that one trial can have together.
struct Site {
  size_t idle = 0;
  std::map<AttemptToken, Holder> holders;
};

// What the core knows of it, whatever size a trial has.
struct FleetQueue {
  // By host where a trial's slots must be on one, else under "".
  std::map<std::string, Site> sites;
  QueueAhead ahead;  // without what the first trial waits for
};
FleetQueue FleetQueueOf(const State& state, const Wanted& wanted, absl::Duration now);
// `slots`: of the smallest trial.
QueueAhead QueueAheadOf(const FleetQueue& queue, int32_t slots);

}  // namespace dt
