// fairness_checker.h: experiments that always want one slot more hold as many each, to within one.
//
// Role:  pure, but for what it remembers since the calm began; computed from trials and workers,
//        not from lines. An experiment wants one more while a trial of one slot waits that any slot
//        would do for, or a ticket. It is calm while the same experiments of one priority go on
//        wanting, nobody else starts, and no slot is lost; it has lasted when every attempt of
//        theirs that was there at its beginning has ended.
// Why:   a slot that is freed goes to the poorest, so that the least that anybody holds never falls
//        while it is calm; and who was given a slot held the least before it. What was held before
//        goes in one trial's length.
// Cost:  O(trials) an event.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>

#include "coordinator/core/effects.h"
#include "coordinator/core/state.h"

namespace dt::sim {

class FairnessChecker {
 public:
  // After a Step: what does not hold, or "".
  std::string AfterStep(const State& state, const Effects& effects);
  // After how many steps shares were compared.
  size_t compared() const { return compared_; }

 private:
  struct Fleet {
    std::set<std::string> slots;             // workers that may hold or take a trial
    std::map<ExperimentId, size_t> wanting;  // slots held, by experiment that wants one more
    std::set<AttemptId> attempts;            // that they have
    size_t held = 0;                         // of `slots`, by whomever
    bool comparable = true;                  // those that wait differ in age and share alone
  };
  static Fleet Look(const State& state);
  bool StillCalm(const Fleet& fleet, const Effects& effects) const;

  Fleet calm_;  // as it is, but for attempts: those since the beginning
  bool is_calm_ = false;
  size_t compared_ = 0;
};

}  // namespace dt::sim
