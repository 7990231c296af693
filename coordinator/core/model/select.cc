#include "coordinator/core/model/select.h"

#include "absl/strings/str_cat.h"

namespace dt {

absl::Status CheckTrial(const DurableState& durable, TrialId id) {
  const size_t trials = GetExperiment(durable, id.experiment).trials.size();
  if (id.trial <= trials) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat("trial ", ToString(id), " does not exist; experiment ",
                                          id.experiment, " has ", trials, " trials"));
}

absl::StatusOr<ExperimentId> ResolveExperiment(const DurableState& state, ExperimentId id,
                                               bool last) {
  if (last) {
    id = NewestExperiment(state);
    if (id == 0) return absl::NotFoundError("there is no experiment yet; submit one first");
    return id;
  }
  if (FindExperiment(state, id) == nullptr) {
    return absl::NotFoundError(absl::StrCat(
        "experiment ", id, " does not exist; dtctl get experiments lists those that do"));
  }
  return id;
}

}  // namespace dt
