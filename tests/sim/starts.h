// starts.h: finds trials that were overtaken by the starts of one Step.
//
// Role: pure; computed from trials and workers, not from lines and reservations. The state just
//       before a start is the state after the Step without that start and the later ones: nothing
//       is freed between the starts of a Step.
// Cost: O(trials) for each start.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "coordinator/core/model/effects.h"
#include "coordinator/core/model/state.h"

namespace dt::sim {

// Returns the number of slots that its trials hold.
size_t Held(const Experiment& experiment);
// Returns the sizes by the specification, not by a line.
std::vector<int32_t> SizesOf(const Experiment& experiment, const Trial& trial);
// The message of a trial that its client ended early.
inline constexpr char kEndedByClient[] = "its client ended it early";
// Returns whether its trials take no slot of a worker.
bool RunsInClients(const Experiment& experiment);
bool HasLabels(const State& state, const std::string& worker, const v1::Resources& wanted);

class Starts {
 public:
  // Borrows both.
  Starts(const State& state, const Effects& effects);
  // Returns the trial that should have gone before this start, or "". `reserved`: the started trial
  // had a reservation when the Step began, and only a larger priority goes before that. REQUIRES: a
  // start of the Step.
  std::string Overtaken(const v1::AttemptStarted& fact, bool reserved) const;
  // Returns whether ranks that share layers were put on several hosts although one host had room
  // for each group, without the workers that are `reserved` for others.
  bool TearsForNothing(const v1::AttemptStarted& fact, const std::set<std::string>& reserved) const;

 private:
  using Fact = v1::AttemptStarted;
  // An experiment just before a start.
  struct Before {
    size_t held = 0;
    size_t active = 0;
  };
  struct Moment {
    std::vector<const Fact*> later;              // this start and the later ones
    std::vector<std::string> free;               // slots that were free then and are not now
    std::map<ExperimentId, Before> experiments;  // experiments that started something in `later`
  };

  Moment MomentOf(const Fact& fact) const;
  Before BeforeOf(const Moment& moment, const Experiment& experiment) const;
  bool MightStart(const Moment& moment, const Experiment& experiment, int32_t slots) const;
  bool WouldFit(const Moment& moment, const Experiment& experiment, int32_t slots) const;
  bool TrialWouldFit(const Moment& moment, const Experiment& experiment, const Trial& trial) const;
  bool TicketWouldFit(const Moment& moment, const Experiment& experiment) const;
  // Returns the workers, by host, that were free just before a start and that the experiment could
  // use.
  std::map<std::string, std::vector<const Worker*>> FreeByHost(
      const Fact& fact, const std::set<std::string>& reserved) const;
  // Sibling returns a trial of the same experiment that goes first; OneOf a trial of this
  // experiment that would have fitted.
  std::string Sibling(const Moment& moment, const Fact& fact) const;
  std::string OneOf(const Moment& moment, const Experiment& experiment) const;

  const State& state_;
  std::vector<const Fact*> starts_;
  bool resizes_ = false;  // a resized trial has slots held for it, and those behind it wait
};

}  // namespace dt::sim
