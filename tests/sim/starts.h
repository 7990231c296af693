// starts.h: who was overtaken by those that one Step started.
//
// Role: pure; computed from trials and workers, not from lines and reservations. What held just
//       before a start is what holds after the Step without that start and those behind it: nothing
//       is freed between the starts of a Step.
// Cost: O(trials) a start.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "coordinator/core/effects.h"
#include "coordinator/core/state.h"

namespace dt::sim {

// Slots that its trials hold.
size_t Held(const Experiment& experiment);
// As the specification has them, rather than a line.
std::vector<int32_t> SizesOf(const Experiment& experiment, const Trial& trial);
bool HasLabels(const State& state, const std::string& worker, const v1::Resources& wanted);

class Starts {
 public:
  // Borrows both.
  Starts(const State& state, const Effects& effects);
  // The one that should have gone before this start; "": nobody. `reserved`: it had a reservation
  // when the Step began, and only a larger priority goes before that.
  // REQUIRES: a start of the Step.
  std::string Overtaken(const v1::AttemptStarted& fact, bool reserved) const;
  // Ranks that share layers are on several hosts, and were to be had on one each, without the
  // workers that are `reserved` for others.
  bool TearsForNothing(const v1::AttemptStarted& fact, const std::set<std::string>& reserved) const;

 private:
  using Fact = v1::AttemptStarted;
  // What an experiment had just before a start.
  struct Before {
    size_t held = 0;
    size_t active = 0;
  };
  struct Moment {
    std::vector<const Fact*> later;              // that start and those behind it
    std::vector<std::string> free;               // slots that were free then and are not now
    std::map<ExperimentId, Before> experiments;  // of those that started something in `later`
  };

  Moment MomentOf(const Fact& fact) const;
  Before BeforeOf(const Moment& moment, const Experiment& experiment) const;
  bool MightStart(const Moment& moment, const Experiment& experiment, int32_t slots) const;
  bool WouldFit(const Moment& moment, const Experiment& experiment, int32_t slots) const;
  bool TrialWouldFit(const Moment& moment, const Experiment& experiment, const Trial& trial) const;
  bool TicketWouldFit(const Moment& moment, const Experiment& experiment) const;
  // Workers that were free just before a start and that the experiment could use, by host.
  std::map<std::string, std::vector<const Worker*>> FreeByHost(
      const Fact& fact, const std::set<std::string>& reserved) const;
  // One of the same experiment that goes first; one of this experiment that would have fitted.
  std::string Sibling(const Moment& moment, const Fact& fact) const;
  std::string OneOf(const Moment& moment, const Experiment& experiment) const;

  const State& state_;
  std::vector<const Fact*> starts_;
  bool resizes_ = false;  // what was resized has its slots held for it, and who is behind it waits
};

}  // namespace dt::sim
