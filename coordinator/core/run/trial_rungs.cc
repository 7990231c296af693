#include "coordinator/core/run/trial_rungs.h"

#include "coordinator/core/model/resolved.h"
#include "coordinator/core/model/search_kind.h"
#include "spec/program.h"
#include "spec/search.h"
#include "spec/spec.h"

namespace dt {

const v1::Spec& SpecOf(const State& state, TrialId id, v1::Spec& resolved) {
  const LiveAttempt* live = FindLiveAttempt(state, id);
  if (live != nullptr) return live->spec;
  const Experiment& experiment = GetExperiment(state.durable, id.experiment);
  resolved = ResolvedOf(experiment, GetTrial(state.durable, id)).value_or(experiment.spec.base());
  return resolved;
}

std::vector<search::RungStep> RungsOf(const Experiment& experiment, TrialId id, uint64_t target,
                                      const v1::Spec& spec) {
  const uint64_t warmup = spec::IsProgram(spec) ? 0 : spec::WarmupSteps(spec, target);
  if (IsPopulation(experiment)) {
    return spec::RungSteps(spec::PopulationOf(experiment.spec.search()), target, warmup);
  }
  return spec::RungSteps(LadderOf(experiment), BracketOf(experiment, id.trial), target, warmup);
}

search::RungStep RungAt(const State& state, TrialId id, uint64_t step) {
  const Experiment& experiment = GetExperiment(state.durable, id.experiment);
  v1::Spec resolved;
  const uint64_t target = GetTrial(state.durable, id).target_steps;
  return search::RungOf(RungsOf(experiment, id, target, SpecOf(state, id, resolved)), step, 0,
                        search::Evaluates::kAtRungs);
}

}  // namespace dt
