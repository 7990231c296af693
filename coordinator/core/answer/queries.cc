// queries.cc: builds lists page by page.
#include "coordinator/core/answer/queries.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/limits.h"
#include "common/status.h"
#include "common/url.h"
#include "common/version.h"
#include "coordinator/core/answer/explain.h"
#include "coordinator/core/answer/rung_table.h"
#include "coordinator/core/answer/summaries.h"
#include "coordinator/core/facts/search_facts.h"
#include "coordinator/core/model/select.h"
#include "coordinator/core/place/reservations.h"

namespace dt {
namespace {

// Number of shown workers that see a checkpoint: enough to find one.
constexpr size_t kSeenByShown = 16;

absl::Status NotAToken(absl::string_view token) {
  return absl::InvalidArgumentError(
      absl::StrCat("page_token '", token.substr(0, 64),
                   "' is not one that this list has given; start again without a token"));
}

// Returns the number in a token; `most` is the largest that the list could have returned.
absl::StatusOr<uint64_t> ReadToken(absl::string_view token, uint64_t most) {
  uint64_t value = 0;
  if (token.empty()) return value;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (error != std::errc() || end != token.data() + token.size() || value > most) {
    return NotAToken(token);
  }
  return value;
}

// Room left on a page: a number of entries, and bytes.
class PageRoom {
 public:
  explicit PageRoom(int32_t asked)
      : entries_(asked <= 0 ? limits::kPageDefault : std::min<size_t>(asked, limits::kPageMax)) {}

  // Takes the room of this entry. Returns false if it belongs on the next page. The first one
  // always fits.
  bool Take(const google::protobuf::Message& entry) {
    const size_t bytes = entry.ByteSizeLong();
    if (taken_ == entries_ || (taken_ > 0 && bytes > bytes_)) return false;
    ++taken_;
    bytes_ -= std::min(bytes, bytes_);
    return true;
  }

 private:
  size_t entries_;
  size_t taken_ = 0;
  size_t bytes_ = limits::kPageBytes;
};

bool HasLabels(const Experiment& experiment,
               const google::protobuf::RepeatedPtrField<v1::Label>& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&experiment](const v1::Label& label) {
    const auto& has = experiment.spec.labels();
    return std::any_of(has.begin(), has.end(), [&label](const v1::Label& other) {
      return other.key() == label.key() && other.value() == label.value();
    });
  });
}

// Position where a list of checkpoints goes on: the first trial of the next page, and how many of
// its checkpoints were shown.
struct CheckpointCursor {
  TrialId trial;
  size_t shown = 0;
};

absl::StatusOr<CheckpointCursor> ReadCheckpointToken(const DurableState& durable,
                                                     const std::string& token) {
  CheckpointCursor cursor;
  if (token.empty()) return cursor;
  const std::vector<absl::string_view> parts = absl::StrSplit(token, '/');
  if (parts.size() != 3) return NotAToken(token);
  DT_ASSIGN_OR_RETURN(cursor.trial.experiment, ReadToken(parts[0], durable.next_experiment - 1));
  DT_ASSIGN_OR_RETURN(uint64_t trial, ReadToken(parts[1], limits::kTrialsPerExperiment));
  cursor.trial.trial = static_cast<uint32_t>(trial);
  DT_ASSIGN_OR_RETURN(cursor.shown, ReadToken(parts[2], limits::kCheckpointsPerTrial));
  return cursor;
}

using SeenBy = std::map<std::string, std::vector<const std::string*>>;

SeenBy WorkersByStorage(const LiveState& live) {
  SeenBy seen;
  for (const auto& [name, index] : live.worker_names) {
    const Worker& worker = live.workers[index];
    if (worker.presence == Presence::kLost || worker.hello.storage_id().empty()) continue;
    auto& names = seen[worker.hello.storage_id()];
    if (names.size() < kSeenByShown) names.push_back(&worker.name);
  }
  return seen;
}

v1::CheckpointSummary Summarize(TrialId id, const KnownCheckpoint& known, const SeenBy& seen) {
  v1::CheckpointSummary summary;
  summary.set_experiment(id.experiment);
  summary.set_trial(id.trial);
  summary.set_attempt(known.attempt);
  *summary.mutable_checkpoint() = known.ref;
  const auto found = seen.find(known.ref.storage_id());
  if (found == seen.end()) return summary;
  for (const std::string* name : found->second) summary.add_seen_by(*name);
  return summary;
}

v1::AttemptSummary Summarize(const State& state, const Experiment& experiment,
                             const Attempt& attempt, uint32_t number, const LiveAttempt* live) {
  v1::AttemptSummary summary;
  summary.set_attempt(number);
  for (size_t rank = 0; rank < attempt.members.size(); ++rank) {
    const GangMember& from = attempt.members[rank];
    v1::AttemptMember& member = *summary.add_members();
    member.set_rank(static_cast<int32_t>(rank));
    member.set_worker(from.worker);
    member.set_host(from.host);
    member.set_local_rank(from.local_rank);
    member.set_device_name(from.device_name);
  }
  const int64_t started = StartedAt(state, experiment, attempt);
  summary.set_started_wall_ms(started);
  summary.set_running_wall_ms(EndedAt(state, attempt.running_wall_ms, started));
  summary.set_ended_wall_ms(EndedAt(state, attempt.ended_wall_ms, started));
  summary.set_resumed_step(attempt.resumed_step);
  const bool of_live = live != nullptr && live->id.attempt == number && !live->Is<Leaving>();
  summary.set_last_step(of_live ? live->step : attempt.last_step);
  summary.set_cause(attempt.cause);
  summary.set_message(attempt.message);
  summary.set_hint(of_live ? live->hint : attempt.hint);
  summary.set_reason(attempt.reason);
  summary.set_rank(attempt.deciding_rank);
  summary.set_lent(of_live && LenderOf(state.live, *live) != nullptr);
  summary.set_stop_reason(attempt.stop_reason);
  summary.set_uncharged(attempt.uncharged);
  return summary;
}

// Summarizes the takeover; `number` counts the trial's mutations from 0.
v1::Takeover Summarize(const Experiment& experiment, const Trial& trial, size_t number) {
  const KnownMutation& known = trial.mutations[number];
  v1::Takeover takeover;
  takeover.set_attempt(known.attempt);
  takeover.set_step(known.step);
  takeover.set_from_trial(known.from_trial);
  takeover.set_reason(known.reason);
  for (const KnownRung& share : trial.rungs) {
    if (share.step == known.step) takeover.set_share(share.rung);
  }
  const bool newest = number + 1 == trial.mutations.size();
  *takeover.mutable_now() =
      ExpandedOf(experiment, newest ? trial.expanded : trial.mutations[number + 1].expanded_before)
          .assignments();
  const v1::ExpandedTrial donor =
      ExpandedAt(experiment, experiment.trials[known.from_trial - 1], known.step);
  for (const v1::Assignment& now : takeover.now()) {
    const auto taken =
        std::find_if(donor.assignments().begin(), donor.assignments().end(),
                     [&now](const v1::Assignment& each) { return each.path() == now.path(); });
    *takeover.add_taken() = taken == donor.assignments().end() ? now : *taken;
  }
  return takeover;
}

}  // namespace

absl::StatusOr<v1::ListExperimentsResponse> Query(const State& state,
                                                  const v1::ListExperimentsRequest& request,
                                                  absl::Duration now) {
  v1::ListExperimentsResponse response;
  const auto& all = state.durable.experiments;
  if (request.last() || request.experiment() != 0) {
    DT_ASSIGN_OR_RETURN(ExperimentId id,
                        ResolveExperiment(state.durable, request.experiment(), request.last()));
    const Experiment& experiment = GetExperiment(state.durable, id);
    if (HasLabels(experiment, request.labels())) {
      v1::ExperimentSummary& summary = *response.add_experiments();
      summary = Summarize(state, experiment);
      summary.set_waiting(WhyNothingRuns(state, experiment, now));
    }
    return response;
  }
  DT_ASSIGN_OR_RETURN(uint64_t after,
                      ReadToken(request.page_token(), state.durable.next_experiment - 1));
  PageRoom room(request.page_size());
  for (auto it = all.upper_bound(after); it != all.end(); ++it) {
    if (!HasLabels(it->second, request.labels())) continue;
    if (it->second.archived && !request.archived()) continue;
    v1::ExperimentSummary summary = Summarize(state, it->second);
    if (!room.Take(summary)) {
      response.set_next_page_token(absl::StrCat(response.experiments().rbegin()->experiment()));
      break;
    }
    *response.add_experiments() = std::move(summary);
  }
  return response;
}

absl::StatusOr<v1::GetExperimentResponse> Query(const State& state,
                                                const v1::GetExperimentRequest& request,
                                                absl::Duration now) {
  DT_ASSIGN_OR_RETURN(ExperimentId id,
                      ResolveExperiment(state.durable, request.experiment(), request.last()));
  const Experiment& experiment = GetExperiment(state.durable, id);
  v1::GetExperimentResponse response;
  *response.mutable_summary() = Summarize(state, experiment);
  response.mutable_summary()->set_waiting(WhyNothingRuns(state, experiment, now));
  *response.mutable_spec() = experiment.spec;
  const std::string& receiver = experiment.spec.notify().url();
  if (!receiver.empty()) response.mutable_spec()->mutable_notify()->set_url(ShownUrl(receiver));
  response.set_file_name(experiment.file_name);
  response.set_file_text(HideUrl(experiment.file_text, receiver));
  for (const Edit& edit : experiment.edits) {
    v1::ExperimentEdit& shown = *response.add_edits();
    shown.set_wall_ms(edit.wall_ms);
    shown.set_who(edit.who);
    shown.set_what(edit.what);
  }
  response.set_environment_lock(experiment.environment_lock);
  FillRungs(state, experiment, response);
  return response;
}

absl::StatusOr<v1::ListTrialsResponse> Query(const State& state,
                                             const v1::ListTrialsRequest& request,
                                             absl::Duration now) {
  DT_ASSIGN_OR_RETURN(ExperimentId id,
                      ResolveExperiment(state.durable, request.experiment(), request.last()));
  const Experiment& experiment = GetExperiment(state.durable, id);
  uint64_t last = experiment.trials.size();
  DT_ASSIGN_OR_RETURN(uint64_t after, ReadToken(request.page_token(), last));
  if (request.trial() != 0) {
    DT_RETURN_IF_ERROR(CheckTrial(state.durable, {id, request.trial()}));
    after = request.trial() - 1;
    last = request.trial();
  }
  v1::ListTrialsResponse response;
  response.set_experiment(id);
  PageRoom room(request.page_size());
  for (uint64_t number = after + 1; number <= last; ++number) {
    const Trial& trial = experiment.trials[number - 1];
    const auto& states = request.states();
    if (!states.empty() && std::find(states.begin(), states.end(), trial.state) == states.end()) {
      continue;
    }
    v1::TrialSummary summary = Summarize(state, {id, static_cast<uint32_t>(number)}, now);
    if (!room.Take(summary)) {
      response.set_next_page_token(absl::StrCat(response.trials().rbegin()->trial()));
      break;
    }
    *response.add_trials() = std::move(summary);
  }
  return response;
}

absl::StatusOr<v1::ListWorkersResponse> Query(const State& state,
                                              const v1::ListWorkersRequest& request,
                                              absl::Duration now) {
  // The token is the last shown name; its worker may be gone by now.
  if (request.page_token().size() > limits::kNameBytes) return NotAToken(request.page_token());
  v1::ListWorkersResponse response;
  PageRoom room(request.page_size());
  // Includes marked workers that are not known, so that users can undrain them.
  const auto& known = state.live.worker_names;
  const auto& marks = state.durable.marks;
  const std::string& after = request.page_token();
  auto live = after.empty() ? known.begin() : known.upper_bound(after);
  auto mark = after.empty() ? marks.begin() : marks.upper_bound(after);
  while (live != known.end() || mark != marks.end()) {
    if (live != known.end() && IsClient(state.live.workers[live->second])) {
      ++live;
      continue;
    }
    const bool of_mark = live == known.end() || (mark != marks.end() && mark->first < live->first);
    const std::string& name = of_mark ? mark->first : live->first;
    v1::WorkerSummary summary = of_mark ? SummarizeUnknown(name, mark->second)
                                        : Summarize(state, state.live.workers[live->second], now);
    if (!room.Take(summary)) {
      response.set_next_page_token(response.workers().rbegin()->worker());
      break;
    }
    *response.add_workers() = std::move(summary);
    if (mark != marks.end() && mark->first == name) {
      if (!of_mark) ++live;
      ++mark;
    } else {
      ++live;
    }
  }
  return response;
}

absl::StatusOr<v1::ListCheckpointsResponse> Query(const State& state,
                                                  const v1::ListCheckpointsRequest& request,
                                                  absl::Duration) {
  DT_ASSIGN_OR_RETURN(CheckpointCursor cursor,
                      ReadCheckpointToken(state.durable, request.page_token()));
  const auto& all = state.durable.experiments;
  auto it = all.lower_bound(cursor.trial.experiment);
  const bool one = request.last() || request.experiment() != 0;
  if (one) {
    DT_ASSIGN_OR_RETURN(ExperimentId id,
                        ResolveExperiment(state.durable, request.experiment(), request.last()));
    it = all.find(id);
    DT_RETURN_IF_ERROR(CheckTrial(state.durable, {id, request.trial()}));
  }
  v1::ListCheckpointsResponse response;
  PageRoom room(request.page_size());
  std::optional<SeenBy> seen;  // made for the first checkpoint, as it visits every worker
  for (; it != all.end(); ++it) {
    const Experiment& experiment = it->second;
    for (uint32_t number = 1; number <= experiment.trials.size(); ++number) {
      const TrialId id{it->first, number};
      if (id < cursor.trial || (request.trial() != 0 && request.trial() != number)) continue;
      const std::vector<KnownCheckpoint>& known = experiment.trials[number - 1].checkpoints;
      for (size_t i = id == cursor.trial ? cursor.shown : 0; i < known.size(); ++i) {
        if (!seen) seen = WorkersByStorage(state.live);
        v1::CheckpointSummary summary = Summarize(id, known[i], *seen);
        if (!room.Take(summary)) {
          response.set_next_page_token(absl::StrCat(it->first, "/", number, "/", i));
          return response;
        }
        *response.add_checkpoints() = std::move(summary);
      }
    }
    if (one) break;
  }
  return response;
}

absl::StatusOr<v1::ExplainTrialResponse> Query(const State& state,
                                               const v1::ExplainTrialRequest& request,
                                               absl::Duration now) {
  DT_ASSIGN_OR_RETURN(ExperimentId experiment,
                      ResolveExperiment(state.durable, request.experiment(), request.last()));
  const TrialId id{experiment, request.trial()};
  DT_RETURN_IF_ERROR(CheckTrial(state.durable, id));
  const Trial* trial = FindTrial(state.durable, id);
  if (trial == nullptr) return absl::NotFoundError("trial 0 does not exist; trials count from 1");
  v1::ExplainTrialResponse response;
  *response.mutable_trial() = Summarize(state, id, now);
  response.set_explanation(ExplainSentences(state, id, now));
  const LiveAttempt* live = FindLiveAttempt(state, id);
  // The newest that fit into one answer, oldest first.
  PageRoom room(static_cast<int32_t>(limits::kPageMax));
  std::vector<v1::AttemptSummary> newest;
  for (size_t number = trial->attempts.size(); number > 0; --number) {
    v1::AttemptSummary summary =
        Summarize(state, GetExperiment(state.durable, id.experiment), trial->attempts[number - 1],
                  static_cast<uint32_t>(number), live);
    if (!room.Take(summary)) break;
    newest.push_back(std::move(summary));
  }
  std::move(newest.rbegin(), newest.rend(),
            google::protobuf::RepeatedFieldBackInserter(response.mutable_attempts()));
  // At most one takeover per share.
  for (size_t i = 0; i < trial->mutations.size(); ++i) {
    *response.add_takeovers() = Summarize(GetExperiment(state.durable, id.experiment), *trial, i);
  }
  return response;
}

absl::StatusOr<v1::GetStatusResponse> Query(const State& state, const v1::GetStatusRequest&,
                                            absl::Duration) {
  v1::GetStatusResponse response;
  response.set_program_version(kVersion);
  response.set_program_revision(kRevision);
  response.set_journal_id(state.durable.journal_id);
  response.set_experiments(static_cast<uint32_t>(state.durable.experiments.size()));
  uint32_t connected = 0;
  for (const auto& [name, index] : state.live.worker_names) {
    const Worker& worker = state.live.workers[index];
    connected += worker.presence != Presence::kLost && !IsClient(worker) ? 1 : 0;
  }
  response.set_workers(connected);
  return response;
}

}  // namespace dt
