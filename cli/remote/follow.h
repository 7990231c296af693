// follow.h: staying with an experiment until it ends.
//
// Errors: codes of the coordinator; it may be away for limits::kFollowPatience in between.
//         Ctrl-C detaches with ExitCode::kInterrupted and says how to come back or cancel.
#pragma once

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/remote/session.h"
#include "cli/view/live_view.h"
#include "common/ids.h"
#include "common/status.h"

namespace dt::cli {

// Shows the live view until the experiment has ended, then its results. Returns its exit code.
absl::StatusOr<ExitCode> FollowExperiment(Session& session, const Selector& selector);

// What `wait --for` waits for.
enum class Until { kDone, kRunning, kFirstStep };
// Waits for an experiment or, with a trial in `selector`, for one trial. Prints nothing meanwhile.
absl::StatusOr<ExitCode> WaitUntil(Session& session, const Selector& selector, Until until,
                                   absl::Duration timeout);

// The trial's best checkpoint, or the newest where none is marked best.
absl::StatusOr<std::optional<v1::CheckpointSummary>> FindBestCheckpoint(Client& client,
                                                                        uint64_t experiment,
                                                                        uint32_t trial);
// The names of what an experiment's trials reported that search.metric may be, in order of the
// alphabet.
absl::StatusOr<std::vector<std::string>> FetchMetricNames(Client& client, uint64_t experiment);
// Summary and trials of one experiment. Errors: NotFound.
absl::StatusOr<LiveState> FetchExperiment(Client& client, const Selector& selector);
// The experiment, and its number in `request`, so that what is asked next is of the same one.
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

// The paths of the parameters of its file, in the file's order.
inline std::vector<std::string> ParameterPaths(const v1::ExperimentSpec& spec) {
  std::vector<std::string> paths;
  for (const v1::Parameter& one : spec.parameters()) paths.push_back(one.path());
  return paths;
}

// The same of the experiment that `request` asks for, as FetchFile has it.
template <typename Request>
absl::StatusOr<std::vector<std::string>> FetchParameters(Client& client, Request& request) {
  DT_ASSIGN_OR_RETURN(const v1::GetExperimentResponse found, FetchFile(client, request));
  return ParameterPaths(found.spec());
}

}  // namespace dt::cli
