#include "coordinator/core/calls/submit.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/client_limits.h"
#include "common/client_trial.h"
#include "common/limits.h"
#include "common/status.h"
#include "coordinator/core/answer/explain.h"
#include "coordinator/core/keep/journal.h"
#include "coordinator/core/keep/pools.h"
#include "coordinator/core/keep/queue.h"

namespace dt {
namespace {

absl::Status CheckRoom(const DurableState& durable, bool disk_low) {
  if (disk_low) {
    return NoRoomOnDisk();
  }
  const auto live = std::count_if(durable.experiments.begin(), durable.experiments.end(),
                                  [](const auto& entry) { return !entry.second.AllEnded(); });
  if (static_cast<size_t>(live) >= limits::kLiveExperiments) {
    return absl::ResourceExhaustedError(
        absl::StrCat(live, " experiments have not ended; the limit is ", limits::kLiveExperiments));
  }
  return absl::OkStatus();
}

// Returns how many different demands the parameters under this path may cause.
size_t Swept(const v1::ExperimentSpec& spec, std::string_view path) {
  size_t values = 1;
  for (const v1::Parameter& parameter : spec.parameters()) {
    if (!parameter.path().starts_with(path)) continue;
    values *= static_cast<size_t>(std::max(1, parameter.values_size()));
    if (values > limits::kTrialsPerExperiment) return limits::kTrialsPerExperiment;
  }
  return values;
}

// Checks the number of searches whose trials run in clients. Workers' shapes are counted apart from
// them, so that forgotten searches refuse nobody else.
absl::Status CheckClientSearches(size_t searches) {
  if (searches < limits::kClientSearches) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      searches, " searches whose trials run in clients have trials left; the limit is ",
      limits::kClientSearches, "; cancel those that nobody goes on with (dtctl cancel EXP)"));
}

// Checks the number of shapes: a decision costs more with each shape that waits.
absl::Status CheckShapes(const LiveState& live, const Experiment& submitted) {
  const v1::ExperimentSpec& spec = submitted.spec;
  std::set<Constraint> constraints;
  size_t of_clients = 0;
  for (const auto& [shape, line] : live.lines) {
    const bool client = shape.constraint.device == DeviceKind::kClient;
    if (!client) constraints.insert(shape.constraint);
    of_clients += client ? 1 : 0;
  }
  if (IsClientTrial(spec.base().command())) return CheckClientSearches(of_clients);
  const size_t shapes = Swept(spec, "resources.");
  const Shape wanted = ShapeOfNext(submitted);
  const bool known = shapes == 1 && live.lines.Contains(wanted);
  const size_t lines = live.lines.size() - of_clients;
  if (!known && lines + shapes > limits::kShapes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "trials of ", lines, " sizes and kinds of worker wait, and these may be ", shapes,
        " more; the limit is ", limits::kShapes, "; sweep fewer values of resources"));
  }
  const size_t kinds = Swept(spec, "resources.accelerator");
  const bool asked = kinds == 1 && constraints.contains(wanted.constraint);
  if (!asked && constraints.size() + kinds > limits::kConstraints) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "trials that ask for ", constraints.size(), " kinds of worker wait, and these may ask for ",
        kinds, " more; the limit is ", limits::kConstraints,
        "; ask for the same accelerator and labels as others do"));
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::SubmitResponse> AnswerKnown(const DurableState& durable, ExperimentId id,
                                               const v1::ExperimentSubmitted& fact) {
  const Experiment& known = GetExperiment(durable, id);
  if (known.request_digest != fact.request_digest()) {
    return absl::AlreadyExistsError(absl::StrCat("request id '", fact.request_id(),
                                                 "' was used for experiment ", id,
                                                 " with other content; use a new request id"));
  }
  v1::SubmitResponse response;
  response.set_experiment(id);
  response.set_trials(known.planned);
  response.set_existed(true);
  response.set_device(known.spec.base().resources().device());
  return response;
}

// Adds a note for the submitter: `note`, or that no connected worker could run it.
void AddNote(const LiveState& live, const Experiment& shape, const std::string& note,
             v1::SubmitResponse& response) {
  response.set_note(note);
  if (IsClientTrial(shape.spec.base().command())) return;
  const Shape wanted = shape.trials.empty() ? ShapeOf(shape) : ShapeOf(shape, shape.trials.front());
  const Decision decision = PlaceIn(live, {wanted, {}});
  response.set_cannot_be_placed(decision.verdict == Verdict::kNeverFits);
  if (note.empty() && response.cannot_be_placed()) {
    response.set_note(absl::StrCat("no connected worker could run this yet: ",
                                   WhyNeverFits(live, wanted, decision.reason)));
  }
}

}  // namespace

absl::Status NoRoomOnDisk() {
  return absl::ResourceExhaustedError(
      absl::StrCat("the coordinator's state directory has less than ",
                   limits::kFreeBytesToSubmit >> 30, " GiB free; make room, then submit again"));
}

DeviceKind AutoDevice(const LiveState& live) {
  return PoolOf(live, DeviceKind::kCuda).connected() > 0 ? DeviceKind::kCuda : DeviceKind::kCpu;
}

absl::StatusOr<v1::SubmitResponse> Submit(Turn& turn, Submission& submission, bool disk_low) {
  v1::ExperimentSubmitted& fact = *submission.record.mutable_experiment_submitted();
  if (!fact.request_id().empty()) {
    const auto known = turn.durable().request_ids.find(fact.request_id());
    if (known != turn.durable().request_ids.end()) {
      return AnswerKnown(turn.durable(), known->second, fact);
    }
  }
  if (!submission.dry_run) DT_RETURN_IF_ERROR(CheckRoom(turn.durable(), disk_low));
  DT_RETURN_IF_ERROR(submission.refused);

  v1::SubmitResponse response;
  response.set_trials(std::max(static_cast<uint32_t>(fact.trials_size()), fact.planned_trials()));
  response.set_device(fact.spec().base().resources().device());
  Experiment shape;
  shape.spec = fact.spec();
  if (!fact.trials().empty()) {
    shape.trials.emplace_back().expanded = fact.trials(0).SerializeAsString();
  }
  DT_RETURN_IF_ERROR(CheckShapes(turn.live(), shape));
  const bool anybody = std::any_of(kDevices.begin(), kDevices.end(), [&turn](DeviceKind device) {
    return PoolOf(turn.live(), device).connected() > 0;
  });
  const std::string note =
      !submission.was_auto || anybody || IsClientTrial(fact.spec().base().command())
          ? std::string()
          : absl::StrCat("no worker is connected yet, so resources.device auto means ",
                         response.device(), "; set it to cuda to wait for GPUs");
  AddNote(turn.live(), shape, note, response);
  if (submission.dry_run) {
    for (v1::ExpandedTrial& trial : submission.shown) response.add_expanded()->Swap(&trial);
    return response;
  }
  const ExperimentId id = turn.durable().next_experiment;
  fact.set_experiment(id);
  Journal(turn, std::move(submission.record));
  const Experiment& taken = GetExperiment(turn.durable(), id);
  turn.effects.log_lines.push_back(absl::StrCat(
      "experiment ", id, " '", taken.spec.name(), "' with ", response.trials(), " trials",
      taken.submitted_by.empty() ? "" : absl::StrCat(" was submitted by ", taken.submitted_by)));
  const auto known = static_cast<uint32_t>(taken.trials.size());
  for (uint32_t trial = 1; trial <= known; ++trial) Enqueue(turn.state, {id, trial});
  KeepTicket(turn.state, id);
  response.set_experiment(id);
  return response;
}

}  // namespace dt
