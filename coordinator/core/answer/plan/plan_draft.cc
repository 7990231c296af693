// plan_draft.cc: groups an experiment's trials by cost.
#include "coordinator/core/answer/plan/plan_draft.h"

#include <algorithm>
#include <map>
#include <utility>

#include "common/limits.h"
#include "common/status.h"
#include "coordinator/core/answer/plan/past_pace.h"
#include "coordinator/core/model/durable.h"
#include "coordinator/core/model/submission.h"
#include "spec/search.h"
#include "spec/spec.h"

namespace dt {
namespace {

// Returns the fields that decide a trial's time and memory, as a key.
std::string CostKey(const v1::Spec& spec) {
  v1::Spec costs = StepCosts(spec);
  costs.mutable_train()->set_max_steps(spec.train().max_steps());
  costs.mutable_train()->set_max_tokens(spec.train().max_tokens());
  costs.mutable_train()->set_epochs(spec.train().epochs());
  costs.mutable_train()->set_max_time_seconds(spec.train().max_time_seconds());
  costs.mutable_data()->set_train(spec.data().train());
  costs.mutable_resources()->set_device(spec.resources().device());
  return costs.SerializeAsString();
}

// Returns the experiment with random draws from the same space instead of later proposals.
v1::ExperimentSpec Drawn(const v1::ExperimentSpec& spec) {
  v1::ExperimentSpec drawn = spec;
  v1::Search& search = *drawn.mutable_search();
  search.set_method("random");
  search.clear_sampler();
  search.clear_asha();
  search.set_max_trials(std::min(search.max_trials(), limits::kPlanDraws));
  return drawn;
}

Shape ShapeOfKind(const Experiment& experiment, const PlannedKind& kind) {
  v1::ExpandedTrial expanded;
  for (const v1::Assignment& one : kind.assignments) *expanded.add_assignments() = one;
  Trial trial;
  trial.expanded = expanded.SerializeAsString();
  return ShapeOf(experiment, trial);
}

absl::Status Fill(PlanDraft& draft, const MayGoOn& may_go_on) {
  draft.drawn = spec::SamplerOf(draft.spec) == spec::Sampler::kBayes;
  DT_ASSIGN_OR_RETURN(const std::vector<v1::ExpandedTrial> trials,
                      spec::Expand(draft.drawn ? Drawn(draft.spec) : draft.spec, may_go_on));
  std::map<std::string, size_t> places;
  for (const v1::ExpandedTrial& trial : trials) {
    std::vector<v1::Assignment> assignments(trial.assignments().begin(), trial.assignments().end());
    DT_ASSIGN_OR_RETURN(v1::Spec resolved, spec::ResolveTrial(draft.spec, assignments));
    const auto [place, is_new] = places.try_emplace(CostKey(resolved), draft.kinds.size());
    if (is_new) draft.kinds.push_back({std::move(resolved), trial.trial(), 0, assignments, {}});
    ++draft.kinds[place->second].trials;
  }
  Experiment experiment;
  experiment.spec = draft.spec;
  for (PlannedKind& kind : draft.kinds) kind.shape = ShapeOfKind(experiment, kind);
  draft.trials =
      draft.drawn ? spec::PlannedTrials(draft.spec) : static_cast<uint32_t>(trials.size());
  return absl::OkStatus();
}

}  // namespace

PlanDraft PreparePlan(v1::SubmitRequest request, DeviceKind for_auto, uint64_t entropy,
                      const MayGoOn& may_go_on) {
  Submission submission = PrepareSubmission(std::move(request), for_auto, entropy, may_go_on);
  PlanDraft draft;
  draft.refused = submission.refused;
  if (!draft.refused.ok()) return draft;
  draft.spec.Swap(submission.record.mutable_experiment_submitted()->mutable_spec());
  if (absl::Status status = Fill(draft, may_go_on); !status.ok()) draft = {.refused = status};
  return draft;
}

}  // namespace dt
