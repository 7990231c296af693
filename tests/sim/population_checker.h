// population_checker.h: checks a population's journal by recomputing it from its records and the
// pure functions alone.
//
// - A member's entry at a share is ranked by its cost, and the member was validated and saved
//   there. - A member among the worst takes over at once, if any other has a checkpoint to take:
//   from the member that its key draws, with that one's checkpoint at the share, and with the
//   values that its key gives. No other member takes over, and the next attempt of one that did
//   begins with that checkpoint.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "coordinator/core/model/durable.h"
#include "coordinator/search/ladder.h"

namespace dt::sim {

// Takes each record of a population before it is applied to `state`; returns "" while all holds.
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
