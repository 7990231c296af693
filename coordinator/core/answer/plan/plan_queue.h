// plan_queue.h: the queue before the trials of a draft: slots held by others, trials that go first,
// and trials of a lower priority that would make room.
//
// Role:    pure. planning.h estimates how long the draft's own trials take.
// Cost:    all connected workers; and for each experiment that has not ended, the workers until one
//          fits both.
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
  // Seconds from now until each suitable slot is free. A trial of a lower priority frees its slot
  // once it may be asked to leave and has saved.
  std::vector<double> free_at;
  std::vector<plan::Batch> before;
  bool known = true;     // whether all times are known
  uint64_t waiting = 0;  // trials of `before`, with those that a search still has to propose
  std::vector<std::string> notes;  // sentences: what the first trial waits for
};

// Returns whether the worker is connected and takes a trial with this constraint.
bool TakesWork(const State& state, const Worker& worker, const Constraint& constraint);

// Trial that holds suitable slots.
struct Holder {
  TrialId id;
  StopOrder order;
  double ends = -1;      // seconds from now; negative: unknown
  double leaves = 0;     // seconds from now, if it may be asked to leave
  size_t slots = 0;      // suitable ones
  bool yields = false;   // its priority is lower
  bool leaving = false;  // its slots are about to be free
};

// Slots that one trial can have together.
struct Site {
  size_t idle = 0;
  std::map<AttemptToken, Holder> holders;
};

// Knowledge of the core about fleet and queue, for any size of a trial.
struct FleetQueue {
  // By host if a trial needs one host, else under "".
  std::map<std::string, Site> sites;
  QueueAhead ahead;  // without the notes on the first trial
};
FleetQueue FleetQueueOf(const State& state, const Wanted& wanted, absl::Duration now);
// Returns the queue for a trial of `slots`, the size of the smallest one.
QueueAhead QueueAheadOf(const FleetQueue& queue, int32_t slots);

}  // namespace dt
