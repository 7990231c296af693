// fairness_checker.h: experiments that always want one slot more hold equal numbers of slots, to
// within one.
//
// Role:  pure, except for its memory since the calm began; computed from trials and workers, not
//        from lines. An experiment wants one more slot while it has a ticket, or a waiting trial of
//        one slot that any slot would fit. It is calm while the same experiments of one priority go
//        on wanting, no other experiment starts, and no slot is lost. The calm has lasted when
//        every attempt that these experiments had at its beginning has ended.
// Why:   a freed slot goes to the experiment with the fewest, so the smallest share never falls
//        while it is calm, and each slot was given to an experiment with the smallest share. Slots
//        held before are left within the length of one trial.
// Cost:  O(trials) an event.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>

#include "coordinator/core/model/effects.h"
#include "coordinator/core/model/state.h"

namespace dt::sim {

class FairnessChecker {
 public:
  // Checks after a Step. Returns the violation, or "".
  std::string AfterStep(const State& state, const Effects& effects);
  // Returns the number of steps after which shares were compared.
  size_t compared() const { return compared_; }

 private:
  struct Fleet {
    std::set<std::string> slots;             // workers that may hold or take a trial
    std::map<ExperimentId, size_t> wanting;  // slots held, by experiment that wants one more
    std::set<AttemptId> attempts;            // attempts of these experiments
    size_t held = 0;                         // number of `slots` that are held by any experiment
    bool comparable = true;                  // the waiting experiments differ only in age and share
  };
  static Fleet Look(const State& state);
  bool StillCalm(const Fleet& fleet, const Effects& effects) const;

  Fleet calm_;  // the present state, but `attempts` are those at the beginning of the calm
  bool is_calm_ = false;
  size_t compared_ = 0;
};

}  // namespace dt::sim
