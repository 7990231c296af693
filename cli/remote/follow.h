// follow.h: follows an experiment until it ends.
//
// Errors: codes of the coordinator. It may be away for limits::kFollowPatience in between. Ctrl-C
//         detaches with ExitCode::kInterrupted and prints how to come back or cancel.
#pragma once

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/remote/session.h"
#include "cli/view/live_view.h"
#include "common/ids.h"
#include "common/status.h"

namespace dt::cli {

// Shows the live view until the experiment ends, then its results. Returns its exit code.
absl::StatusOr<ExitCode> FollowExperiment(Session& session, const Selector& selector);

// Condition of `wait --for`.
enum class Until { kDone, kRunning, kFirstStep };
// Waits for an experiment or, with a trial in `selector`, for a trial. Prints nothing meanwhile.
absl::StatusOr<ExitCode> WaitUntil(Session& session, const Selector& selector, Until until,
                                   absl::Duration timeout);

// Returns the trial's best checkpoint, or the newest where none is marked best.
absl::StatusOr<std::optional<v1::CheckpointSummary>> FindBestCheckpoint(Client& client,
                                                                        uint64_t experiment,
                                                                        uint32_t trial);
// Returns the reported names that search.metric may be, in alphabetical order.
absl::StatusOr<std::vector<std::string>> FetchMetricNames(Client& client, uint64_t experiment);
// Fetches summary and trials of an experiment. Errors: NotFound.
absl::StatusOr<LiveState> FetchExperiment(Client& client, const Selector& selector);
// Fetches the experiment and sets its number in `request`, so that later calls use the same one.
// Errors: NotFound.
template <typename Request>
absl::StatusOr<v1::GetExperimentResponse> FetchFile(Client& client, Request& request) {
  v1::GetExperimentRequest of;
  of.set_experiment(request.experiment());
  of.set_last(request.last());
  DT_ASSIGN_OR_RETURN(const auto found, client.GetExperiment(of));
  request.set_experiment(found.summary().experiment());
  request.set_last(false);
  return found;
}

// Returns the paths of the parameters in the experiment's file, in order.
inline std::vector<std::string> ParameterPaths(const v1::ExperimentSpec& spec) {
  std::vector<std::string> paths;
  for (const v1::Parameter& one : spec.parameters()) paths.push_back(one.path());
  return paths;
}

// Fetches the same for the experiment that `request` names, as FetchFile does.
template <typename Request>
absl::StatusOr<std::vector<std::string>> FetchParameters(Client& client, Request& request) {
  DT_ASSIGN_OR_RETURN(const v1::GetExperimentResponse found, FetchFile(client, request));
  return ParameterPaths(found.spec());
}

}  // namespace dt::cli
