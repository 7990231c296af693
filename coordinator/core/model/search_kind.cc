#include "coordinator/core/model/search_kind.h"

#include <algorithm>

#include "common/client_trial.h"
#include "coordinator/search/ladder.h"
#include "spec/space.h"

namespace dt {

bool Proposes(const Experiment& experiment) {
  return spec::SamplerOf(experiment.spec) == spec::Sampler::kBayes;
}

bool DefinesByRun(const Experiment& experiment) {
  return IsDefineByRun(experiment.spec.base().command());
}

const v1::Parameter* FindParameter(const Experiment& experiment, const std::string& path) {
  const auto& parameters = experiment.spec.parameters();
  const auto found =
      std::find_if(parameters.begin(), parameters.end(),
                   [&path](const v1::Parameter& each) { return each.path() == path; });
  return found == parameters.end() ? nullptr : &*found;
}

absl::StatusOr<spec::Space> SpaceOfOne(const Experiment& experiment,
                                       const v1::Parameter& parameter) {
  v1::ExperimentSpec alone;
  *alone.mutable_base()->mutable_command() = experiment.spec.base().command();
  *alone.mutable_search() = experiment.spec.search();
  *alone.add_parameters() = parameter;
  return spec::SpaceOf(alone);
}

bool Climbs(const Experiment& experiment) { return experiment.spec.search().method() == "asha"; }

bool IsPopulation(const Experiment& experiment) { return spec::IsPopulation(experiment.spec); }

uint32_t ConfigurationOf(const Experiment& experiment, uint32_t trial) {
  return (trial - 1) / spec::ReplicatesOf(experiment.spec) + 1;
}

spec::Ladder LadderOf(const Experiment& experiment) {
  return spec::LadderOf(experiment.spec.search());
}

int BracketOf(const Experiment& experiment, uint32_t trial) {
  return search::BracketOf(LadderOf(experiment), ConfigurationOf(experiment, trial));
}

bool BlamesValues(v1::Cause cause) {
  return cause == v1::CAUSE_OOM || cause == v1::CAUSE_NONFINITE;
}

bool FailedByItself(v1::Cause cause) {
  switch (cause) {
    case v1::CAUSE_TRAINER_CRASH:
    case v1::CAUSE_HANG:
    case v1::CAUSE_OOM:
    case v1::CAUSE_NONFINITE:
    case v1::CAUSE_CONFIG:
    case v1::CAUSE_DATA:
      return true;
    case v1::CAUSE_COLLECTIVE:  // no rank reported its own cause: the fault lies between them
    case v1::CAUSE_WORKER_LOST:
    case v1::CAUSE_WORKER_FAULT:
    case v1::CAUSE_NETWORK:
    case v1::CAUSE_PREEMPTED:
    case v1::CAUSE_CANCELLED:
    case v1::CAUSE_STOPPED_EARLY:
    case v1::CAUSE_FINISHED:
    case v1::CAUSE_UNSPECIFIED:
    case v1::Cause_INT_MIN_SENTINEL_DO_NOT_USE_:
    case v1::Cause_INT_MAX_SENTINEL_DO_NOT_USE_:
      return false;
  }
  return false;
}

}  // namespace dt
