#include "coordinator/core/submit.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/limits.h"
#include "common/sha256.h"
#include "common/status.h"
#include "common/text.h"
#include "coordinator/core/schedule.h"
#include "spec/spec.h"

namespace dt {
namespace {

// A request id is a short random text.
constexpr size_t kRequestIdBytes = 64;
// For the line that says how many issues are left out.
constexpr size_t kRoomForTheRest = 64;
constexpr int kDryRunTrialsShown = 100;
// A seed that was left to chance; readable, and exact in every language's numbers.
constexpr uint64_t kSeedRange = 1u << 31;

absl::Status CheckSizes(const v1::SubmitRequest& request) {
  const auto check = [](absl::string_view what, size_t size, size_t limit) {
    return size <= limit ? absl::OkStatus()
                         : absl::InvalidArgumentError(
                               absl::StrCat(what, " has ", size, " bytes; the limit is ", limit));
  };
  DT_RETURN_IF_ERROR(check("request_id", request.request_id().size(), kRequestIdBytes));
  DT_RETURN_IF_ERROR(check("file_name", request.file_name().size(), limits::kTextBytes));
  DT_RETURN_IF_ERROR(check("file_text", request.file_text().size(), limits::kExperimentFileBytes));
  DT_RETURN_IF_ERROR(check("name", request.spec().name().size(), limits::kNameBytes));
  if (request.spec().labels_size() > static_cast<int>(limits::kLabels)) {
    return absl::InvalidArgumentError(absl::StrCat("labels: ", request.spec().labels_size(),
                                                   " given; the limit is ", limits::kLabels));
  }
  return absl::OkStatus();
}

std::string DigestOf(const v1::SubmitRequest& request) {
  v1::SubmitRequest payload = request;
  payload.clear_request_id();
  payload.clear_dry_run();
  return Sha256Hex(payload.SerializeAsString());
}

absl::Status CheckSpec(const v1::ExperimentSpec& spec) {
  const std::vector<spec::Issue> issues = spec::Validate(spec);
  if (issues.empty()) return absl::OkStatus();
  std::string message = "the experiment is refused:";
  size_t room = limits::kStatusMessageBytes - kRoomForTheRest - message.size();
  for (size_t i = 0; i < issues.size(); ++i) {
    const spec::Issue& issue = issues[i];
    const std::string line =
        absl::StrCat("\n", issue.path, issue.path.empty() ? "" : ": ", issue.message,
                     issue.hint.empty() ? "" : "; ", issue.hint);
    const size_t bytes = PercentEncodedBytes(line);
    if (bytes > room) {
      absl::StrAppend(&message, "\nand ", issues.size() - i, " more");
      break;
    }
    message += line;
    room -= bytes;
  }
  return absl::InvalidArgumentError(message);
}

absl::Status CheckRoom(const DurableState& durable, bool disk_low) {
  if (disk_low) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the coordinator's state directory has less than ",
                     limits::kFreeBytesToSubmit >> 30, " GiB free; make room, then submit again"));
  }
  const auto live = std::count_if(durable.experiments.begin(), durable.experiments.end(),
                                  [](const auto& entry) { return !entry.second.AllEnded(); });
  if (static_cast<size_t>(live) >= limits::kLiveExperiments) {
    return absl::ResourceExhaustedError(
        absl::StrCat(live, " experiments have not ended; the limit is ", limits::kLiveExperiments));
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::SubmitResponse> AnswerKnown(const DurableState& durable, ExperimentId id,
                                               const v1::SubmitRequest& request) {
  const Experiment& known = GetExperiment(durable, id);
  if (known.request_digest != DigestOf(request)) {
    return absl::AlreadyExistsError(absl::StrCat("request id '", request.request_id(),
                                                 "' was used for experiment ", id,
                                                 " with other content; use a new request id"));
  }
  v1::SubmitResponse response;
  response.set_experiment(id);
  response.set_trials(static_cast<uint32_t>(known.trials.size()));
  response.set_existed(true);
  response.set_device(known.spec.base().resources().device());
  return response;
}

// `auto` becomes what is connected, once and for all: a gang and its successors never mix kinds. A
// seed that the file leaves to chance is chosen. Returns what the submitter should know, or "".
std::string Freeze(const LiveState& live, uint64_t entropy, v1::ExperimentSpec& spec) {
  const size_t cuda = live.pools[static_cast<int>(DeviceKind::kCuda)].connected();
  const size_t cpu = live.pools[static_cast<int>(DeviceKind::kCpu)].connected();
  const std::string frozen(Name(cuda > 0 ? DeviceKind::kCuda : DeviceKind::kCpu));
  const bool is_auto = spec.base().resources().device() == "auto";
  spec::Freeze(spec, frozen, 1 + static_cast<int64_t>(entropy % (kSeedRange - 1)));
  if (!is_auto || cuda + cpu > 0) return {};
  return absl::StrCat("no worker is connected yet, so resources.device auto means ", frozen,
                      "; set it to cuda to wait for GPUs");
}

// Says what the submitter should know: `note`, or that nothing connected could run it.
void AddNote(const LiveState& live, const Experiment& shape, const std::string& note,
             v1::SubmitResponse& response) {
  const DemandClass demand = DemandOf(shape, shape.trials.front());
  const Decision decision = Place(live.pools[static_cast<int>(demand.device)], {demand, {}});
  response.set_cannot_be_placed(decision.verdict == Verdict::kNeverFits);
  response.set_note(note);
  if (note.empty() && response.cannot_be_placed()) {
    response.set_note(absl::StrCat("no connected worker could run this yet: ", decision.reason));
  }
}

}  // namespace

absl::StatusOr<v1::SubmitResponse> Submit(Turn& turn, v1::SubmitRequest& request, bool disk_low) {
  DT_RETURN_IF_ERROR(CheckSizes(request));
  if (!request.request_id().empty()) {
    const auto known = turn.durable().request_ids.find(request.request_id());
    if (known != turn.durable().request_ids.end()) {
      return AnswerKnown(turn.durable(), known->second, request);
    }
  }
  if (!request.dry_run()) DT_RETURN_IF_ERROR(CheckRoom(turn.durable(), disk_low));
  const std::string digest = DigestOf(request);
  v1::ExperimentSpec& spec = *request.mutable_spec();
  const std::string note = Freeze(turn.live(), turn.entropy[0], spec);
  // What is wrong on the device it will run on is wrong.
  DT_RETURN_IF_ERROR(CheckSpec(spec));
  DT_ASSIGN_OR_RETURN(std::vector<v1::ExpandedTrial> trials, spec::Expand(spec));

  v1::SubmitResponse response;
  response.set_trials(static_cast<uint32_t>(trials.size()));
  response.set_device(spec.base().resources().device());
  Experiment shape;
  shape.spec = spec;
  shape.trials.emplace_back().expanded = trials.front().SerializeAsString();
  AddNote(turn.live(), shape, note, response);
  if (request.dry_run()) {
    for (const v1::ExpandedTrial& trial : trials) {
      if (response.expanded_size() == kDryRunTrialsShown) break;
      *response.add_expanded() = trial;
    }
    return response;
  }

  v1::Record record;
  v1::ExperimentSubmitted& fact = *record.mutable_experiment_submitted();
  const ExperimentId id = turn.durable().next_experiment;
  fact.set_experiment(id);
  fact.set_request_id(request.request_id());
  fact.set_request_digest(digest);
  fact.mutable_spec()->Swap(&spec);
  fact.mutable_file_name()->swap(*request.mutable_file_name());
  fact.mutable_file_text()->swap(*request.mutable_file_text());
  for (v1::ExpandedTrial& trial : trials) fact.add_trials()->Swap(&trial);
  Journal(turn, std::move(record));
  for (uint32_t trial = 1; trial <= response.trials(); ++trial) Enqueue(turn.state, {id, trial});
  response.set_experiment(id);
  return response;
}

}  // namespace dt
