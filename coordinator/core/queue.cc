// queue.cc: the queue of one demand class.
#include "coordinator/core/queue.h"

namespace dt {

void WaitingTrials::Insert(TrialId trial, Gate gate) {
  if (trials_[trial.experiment].insert(trial.trial).second) ++size_;
  SetGate(trial.experiment, gate);
}

bool WaitingTrials::Erase(TrialId trial) {
  const auto found = trials_.find(trial.experiment);
  if (found == trials_.end() || found->second.erase(trial.trial) == 0) return false;
  --size_;
  if (found->second.empty()) {
    trials_.erase(found);
    open_.erase(trial.experiment);
  }
  return true;
}

void WaitingTrials::SetGate(ExperimentId experiment, Gate gate) {
  if (!trials_.contains(experiment)) return;
  if (gate == Gate::kOpen) {
    open_.insert(experiment);
  } else {
    open_.erase(experiment);
  }
}

bool WaitingTrials::Contains(TrialId trial) const {
  const auto found = trials_.find(trial.experiment);
  return found != trials_.end() && found->second.contains(trial.trial);
}

std::optional<TrialId> WaitingTrials::Head() const {
  if (open_.empty()) return std::nullopt;
  const ExperimentId experiment = *open_.begin();
  return TrialId{experiment, *trials_.find(experiment)->second.begin()};
}

}  // namespace dt
