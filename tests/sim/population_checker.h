// population_checker.h: what a journal must say of a population, counted anew from its records and
// the pure functions alone.
//
// - A member's entry at a share stands where its cost says, and it was validated and saved there.
// - Who is among the worst takes over at once, where anybody has what it could take: from the one
//   that its key draws, what that one saved there, with the values that its key gives. Nobody else
//   does, and who did begins with that.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "coordinator/core/durable.h"
#include "coordinator/search/ladder.h"

namespace dt::sim {

// Told of each record of a population before it is applied to `state`; "" when all holds.
class PopulationChecker {
 public:
  std::string Take(const DurableState& state, const v1::Record& record);

 private:
  std::string TakeEntry(const Experiment& experiment, const v1::RungDecided& fact);
  std::string TakeMutation(const Experiment& experiment, const v1::TrialMutated& fact);
  std::string TakeStart(const Experiment& experiment, const v1::AttemptStarted& fact) const;
  void Forgive(const v1::TrialRetried& fact);

  struct Due {
    TrialId trial;
    uint32_t from = 0;
    int share = 0;
  };
  // By experiment and share: cost by trial.
  std::map<std::pair<ExperimentId, int>, std::map<uint32_t, double>> entries_;
  Due due_;  // must be the next record; from 0: none
};

}  // namespace dt::sim
