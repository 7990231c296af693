// snapshot.cc: saves and loads field by field, in the order of durable.h.
#include "coordinator/core/facts/snapshot.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/mutant.h"
#include "common/status.h"
#include "coordinator/core/facts/notification_facts.h"

namespace dt {
namespace {

void Save(const Attempt& attempt, v1::SnapshotAttempt& out) {
  out.set_token(attempt.token.ToBytes());
  out.set_state(static_cast<uint32_t>(attempt.state));
  if (!Mutated(Mutant::kSnapshotWithoutEnd)) out.set_cause(attempt.cause);
  out.set_deciding_rank(attempt.deciding_rank);
  for (const GangMember& member : attempt.members) {
    v1::SnapshotMember& saved = *out.add_members();
    saved.set_worker(member.worker);
    saved.set_instance(member.instance);
    saved.set_host(member.host);
    saved.set_device_name(member.device_name);
    saved.set_local_rank(member.local_rank);
  }
  if (attempt.resume) *out.mutable_resume() = *attempt.resume;
  out.set_resumed_step(attempt.resumed_step);
  out.set_last_step(attempt.last_step);
  out.set_reason(attempt.reason);
  out.set_message(attempt.message);
  out.set_hint(attempt.hint);
  out.set_started_wall_ms(attempt.started_wall_ms);
  out.set_running_wall_ms(attempt.running_wall_ms);
  out.set_ended_wall_ms(attempt.ended_wall_ms);
  out.set_trained_ms(attempt.trained_ms);
  out.set_ran(attempt.ran);
  out.set_progressed(attempt.progressed);
  out.set_uncharged(attempt.uncharged);
  out.set_early(attempt.early);
  out.set_ordinal(attempt.ordinal);
  out.set_stop_why(static_cast<uint32_t>(attempt.stop_why));
  out.set_stop_reason(attempt.stop_reason);
  out.set_stop_for_experiment(attempt.stop_for.experiment);
  out.set_stop_for_trial(attempt.stop_for.trial);
  out.set_stop_slots(attempt.stop_slots);
}

void Save(const Trial& trial, v1::SnapshotTrial& out) {
  out.set_state(trial.state);
  out.set_cause(trial.cause);
  out.set_crashes(trial.tries.crashes);
  out.set_losses(trial.tries.losses);
  out.set_target_steps(trial.target_steps);
  out.set_retry_after_ms(trial.retry_after_ms);
  out.set_ended_wall_ms(trial.ended_wall_ms);
  out.set_expanded(trial.expanded);
  out.set_chosen(trial.chosen);
  out.set_prepared(trial.prepared);
  out.set_last_loss(trial.last_loss);
  out.set_last_row(trial.last_row);
  *out.mutable_pace() = trial.pace;
  out.set_message(trial.message);
  for (const Attempt& attempt : trial.attempts) Save(attempt, *out.add_attempts());
  for (const KnownCheckpoint& known : trial.checkpoints) {
    v1::SnapshotCheckpoint& saved = *out.add_checkpoints();
    saved.set_attempt(known.attempt);
    *saved.mutable_ref() = known.ref;
  }
  for (const KnownEvaluation& known : trial.evaluations) {
    v1::SnapshotEvaluation& saved = *out.add_evaluations();
    saved.set_attempt(known.attempt);
    saved.set_step(known.step);
    saved.set_loss(known.loss);
    saved.set_metric(known.metric);
  }
  for (const KnownRung& known : trial.rungs) {
    v1::SnapshotRung& saved = *out.add_rungs();
    saved.set_rung(known.rung);
    saved.set_step(known.step);
    saved.set_cost(known.cost);
    saved.set_goes_on(known.goes_on);
  }
  for (const KnownMutation& known : trial.mutations) {
    v1::SnapshotMutation& saved = *out.add_mutations();
    saved.set_attempt(known.attempt);
    saved.set_from_trial(known.from_trial);
    saved.set_step(known.step);
    *saved.mutable_checkpoint() = known.taken.ref;
    saved.set_expanded_before(known.expanded_before);
    saved.set_reason(known.reason);
  }
  v1::SnapshotValidated& validated = *out.mutable_validated();
  validated.set_step(trial.validated.step);
  validated.set_validations(trial.validated.validations);
  validated.set_best(trial.validated.best);
  validated.set_without_better(trial.validated.without_better);
  validated.set_mean(trial.validated.mean);
  for (const MeanAt& each : trial.means) {
    validated.add_mean_steps(each.step);
    validated.add_means(each.mean);
  }
}

void Save(const Experiment& experiment, v1::SnapshotExperiment& out) {
  out.set_id(experiment.id);
  out.set_request_id(experiment.request_id);
  out.set_request_digest(experiment.request_digest);
  *out.mutable_spec() = experiment.spec;
  out.set_file_name(experiment.file_name);
  out.set_file_text(experiment.file_text);
  out.set_submitted_wall_ms(experiment.submitted_wall_ms);
  out.set_ended_wall_ms(experiment.ended_wall_ms);
  out.set_cancel_requested(experiment.cancel_requested);
  for (const Trial& trial : experiment.trials) Save(trial, *out.add_trials());
  out.set_planned(experiment.planned);
  out.set_search_ended(experiment.search_ended);
  out.set_search_end(experiment.search_end);
  out.set_paused(experiment.paused);
  out.set_paused_by(experiment.paused_by);
  out.set_paused_why(experiment.paused_why);
  for (const Edit& edit : experiment.edits) {
    v1::SnapshotEdit& saved = *out.add_edits();
    saved.set_wall_ms(edit.wall_ms);
    saved.set_who(edit.who);
    saved.set_what(edit.what);
  }
  out.set_submitted_by(experiment.submitted_by);
  out.set_level(experiment.level);
  out.set_note(experiment.note);
  out.set_archived(experiment.archived);
  *out.mutable_resolved() = experiment.resolved;
  for (const std::string& path : experiment.resolved_paths) out.add_resolved_paths(path);
  out.set_pending(experiment.pending);
  out.set_active(experiment.active);
  out.set_finished(experiment.finished);
  out.set_failed(experiment.failed);
  out.set_cancelled(experiment.cancelled);
  out.set_oom(experiment.oom);
  out.set_stopped_early(experiment.stopped_early);
  out.set_attempts(experiment.attempts);
  out.set_newest_progress(experiment.newest_progress);
}

absl::StatusOr<Attempt> Load(v1::SnapshotAttempt& saved) {
  const auto token = AttemptToken::FromBytes(saved.token());
  if (!token.ok() || saved.state() > static_cast<uint32_t>(AttemptState::kEnded)) {
    return absl::DataLossError("the snapshot has an attempt without a token or a known state");
  }
  Attempt attempt;
  attempt.token = *token;
  attempt.state = static_cast<AttemptState>(saved.state());
  attempt.cause = saved.cause();
  attempt.deciding_rank = saved.deciding_rank();
  attempt.members.reserve(static_cast<size_t>(saved.members_size()));
  for (const v1::SnapshotMember& member : saved.members()) {
    attempt.members.push_back({member.worker(), member.instance(), member.host(),
                               member.device_name(), member.local_rank()});
  }
  if (saved.has_resume()) attempt.resume = std::move(*saved.mutable_resume());
  attempt.resumed_step = saved.resumed_step();
  attempt.last_step = saved.last_step();
  attempt.reason = std::move(*saved.mutable_reason());
  attempt.message = std::move(*saved.mutable_message());
  attempt.hint = std::move(*saved.mutable_hint());
  attempt.started_wall_ms = saved.started_wall_ms();
  attempt.running_wall_ms = saved.running_wall_ms();
  attempt.ended_wall_ms = saved.ended_wall_ms();
  attempt.ran = saved.ran();
  attempt.trained_ms = TrainedMs(attempt, saved.trained_ms());
  attempt.progressed = saved.progressed();
  attempt.uncharged = saved.uncharged();
  attempt.early = saved.early();
  attempt.ordinal = saved.ordinal();
  attempt.stop_why = static_cast<v1::StopRequested::Why>(saved.stop_why());
  attempt.stop_reason = std::move(*saved.mutable_stop_reason());
  attempt.stop_for = {saved.stop_for_experiment(), saved.stop_for_trial()};
  attempt.stop_slots = saved.stop_slots();
  return attempt;
}

absl::Status Load(v1::SnapshotTrial& saved, Trial& trial) {
  trial.state = saved.state();
  trial.cause = saved.cause();
  trial.tries = {saved.crashes(), saved.losses()};
  trial.target_steps = saved.target_steps();
  trial.retry_after_ms = saved.retry_after_ms();
  trial.ended_wall_ms = saved.ended_wall_ms();
  trial.expanded = std::move(*saved.mutable_expanded());
  trial.chosen = std::move(*saved.mutable_chosen());
  trial.prepared = std::move(*saved.mutable_prepared());
  trial.last_loss = saved.last_loss();
  trial.last_row = std::move(*saved.mutable_last_row());
  trial.pace = saved.pace();
  trial.message = std::move(*saved.mutable_message());
  trial.attempts.reserve(static_cast<size_t>(saved.attempts_size()));
  for (v1::SnapshotAttempt& each : *saved.mutable_attempts()) {
    DT_ASSIGN_OR_RETURN(Attempt attempt, Load(each));
    trial.attempts.push_back(std::move(attempt));
  }
  for (v1::SnapshotCheckpoint& each : *saved.mutable_checkpoints()) {
    trial.checkpoints.push_back({each.attempt(), std::move(*each.mutable_ref())});
  }
  for (const v1::SnapshotEvaluation& each : saved.evaluations()) {
    trial.evaluations.push_back({each.attempt(), each.step(), each.loss(), each.metric()});
  }
  for (const v1::SnapshotRung& each : saved.rungs()) {
    trial.rungs.push_back({each.rung(), each.step(), each.cost(), each.goes_on()});
  }
  for (v1::SnapshotMutation& each : *saved.mutable_mutations()) {
    trial.mutations.push_back({each.attempt(), each.from_trial(), each.step(),
                               KnownCheckpoint{0, std::move(*each.mutable_checkpoint())},
                               std::move(*each.mutable_expanded_before()),
                               std::move(*each.mutable_reason())});
  }
  // An older version did not save this: it counts from here on.
  const v1::SnapshotValidated& validated = saved.validated();
  if (!saved.has_validated()) return absl::OkStatus();
  trial.validated = {validated.step(), validated.validations(), validated.best(),
                     validated.without_better(), validated.mean()};
  for (int i = 0; i < std::min(validated.mean_steps_size(), validated.means_size()); ++i) {
    trial.means.push_back({validated.mean_steps(i), validated.means(i)});
  }
  return absl::OkStatus();
}

absl::Status Load(v1::SnapshotExperiment& saved, Experiment& experiment) {
  experiment.id = saved.id();
  experiment.request_id = saved.request_id();
  experiment.request_digest = saved.request_digest();
  experiment.spec = std::move(*saved.mutable_spec());
  experiment.file_name = saved.file_name();
  experiment.file_text = std::move(*saved.mutable_file_text());
  experiment.submitted_wall_ms = saved.submitted_wall_ms();
  experiment.ended_wall_ms = saved.ended_wall_ms();
  experiment.cancel_requested = saved.cancel_requested();
  experiment.trials.resize(static_cast<size_t>(saved.trials_size()));
  for (size_t i = 0; i < experiment.trials.size(); ++i) {
    DT_RETURN_IF_ERROR(Load(*saved.mutable_trials(static_cast<int>(i)), experiment.trials[i]));
  }
  experiment.planned = saved.planned();
  experiment.search_ended = saved.search_ended();
  experiment.search_end = std::move(*saved.mutable_search_end());
  experiment.paused = saved.paused();
  experiment.paused_by = std::move(*saved.mutable_paused_by());
  experiment.paused_why = std::move(*saved.mutable_paused_why());
  for (v1::SnapshotEdit& each : *saved.mutable_edits()) {
    experiment.edits.push_back(
        {each.wall_ms(), std::move(*each.mutable_who()), std::move(*each.mutable_what())});
  }
  experiment.submitted_by = std::move(*saved.mutable_submitted_by());
  experiment.level = saved.level();
  experiment.note = std::move(*saved.mutable_note());
  experiment.archived = saved.archived();
  experiment.resolved = std::move(*saved.mutable_resolved());
  experiment.resolved_paths = {saved.resolved_paths().begin(), saved.resolved_paths().end()};
  experiment.pending = saved.pending();
  experiment.active = saved.active();
  experiment.finished = saved.finished();
  experiment.failed = saved.failed();
  experiment.cancelled = saved.cancelled();
  experiment.oom = saved.oom();
  experiment.stopped_early = saved.stopped_early();
  experiment.attempts = saved.attempts();
  experiment.newest_progress = saved.newest_progress();
  return absl::OkStatus();
}

void SaveMarks(const DurableState& state, v1::SnapshotHead& out) {
  for (const auto& [worker, mark] : state.marks) {
    v1::SnapshotMark& saved = *out.add_marks();
    saved.set_worker(worker);
    saved.set_drained(mark.drained);
    saved.set_reason(mark.reason);
    saved.set_who(mark.who);
    saved.set_since_wall_ms(mark.since_wall_ms);
    saved.set_quarantined(mark.quarantined);
    saved.set_quarantine_reason(mark.quarantine_reason);
    saved.set_quarantines(mark.quarantines);
    saved.set_quarantined_wall_ms(mark.quarantined_wall_ms);
    for (const AttemptId& id : mark.returned) *saved.add_returned() = NumberOf(id);
  }
  for (const auto& [worker, streak] : state.streaks) {
    v1::SnapshotStreak& saved = *out.add_streaks();
    saved.set_worker(worker);
    for (const CountedEnd& end : streak.ends) {
      *saved.add_attempts() = NumberOf(end.id);
      saved.add_begun(end.begun);
    }
  }
}

void LoadMarks(const v1::SnapshotHead& head, DurableState& state) {
  for (const v1::SnapshotMark& saved : head.marks()) {
    WorkerMark& mark = state.marks[saved.worker()];
    mark = {.drained = saved.drained(),
            .reason = saved.reason(),
            .who = saved.who(),
            .since_wall_ms = saved.since_wall_ms(),
            .quarantined = saved.quarantined(),
            .quarantine_reason = saved.quarantine_reason(),
            .quarantines = saved.quarantines(),
            .quarantined_wall_ms = saved.quarantined_wall_ms(),
            .returned = {}};
    for (const v1::AttemptNumber& number : saved.returned()) mark.returned.push_back(IdOf(number));
  }
  for (const v1::SnapshotStreak& saved : head.streaks()) {
    CrashStreak& streak = state.streaks[saved.worker()];
    for (int i = 0; i < saved.attempts_size(); ++i) {
      // An older version saved no number; its attempts have no ordinal either.
      const uint32_t begun = i < saved.begun_size() ? saved.begun(i) : 0;
      streak.ends.push_back({IdOf(saved.attempts(i)), begun});
    }
  }
}

void SaveFigures(const DurableState& state, v1::SnapshotHead& out) {
  for (const auto& [key, known] : state.figures) {
    v1::SnapshotFigure& saved = *out.add_figures();
    saved.set_device_name(key.device_name);
    *saved.mutable_figure() = known.figure;
    saved.set_experiment(known.by.experiment);
    saved.set_trial(known.by.trial);
    saved.set_wall_ms(known.wall_ms);
  }
}

void LoadFigures(const v1::SnapshotHead& head, DurableState& state) {
  for (const v1::SnapshotFigure& saved : head.figures()) {
    state.figures[KeyOf(saved.device_name(), saved.figure())] = {
        saved.figure(), {saved.experiment(), saved.trial()}, saved.wall_ms()};
  }
}

void SaveQuotas(const DurableState& state, v1::SnapshotHead& out) {
  for (const auto& [key, quota] : state.quotas) {
    v1::SnapshotQuota& saved = *out.add_quotas();
    saved.set_user(key.user);
    saved.set_label(key.label);
    saved.set_slots(quota.slots);
    saved.set_who(quota.who);
    saved.set_since_wall_ms(quota.since_wall_ms);
  }
}

void LoadQuotas(const v1::SnapshotHead& head, DurableState& state) {
  for (const v1::SnapshotQuota& saved : head.quotas()) {
    state.quotas[{saved.user(), saved.label()}] = {saved.slots(), saved.who(),
                                                   saved.since_wall_ms()};
  }
}

void SaveNotices(const DurableState& state, v1::SnapshotHead& out) {
  out.set_next_notice(state.next_notice);
  for (const auto& [number, notice] : state.notices) *out.add_notices() = notice;
}

void LoadNotices(const v1::SnapshotHead& head, DurableState& state) {
  state.next_notice =
      std::max<uint64_t>(1, head.next_notice());  // 0: saved by a version without notices
  for (const v1::Notice& saved : head.notices()) KeepNotice(state, saved);
}

// Rebuilds the indices that Apply keeps beside the experiments.
void Index(const Experiment& experiment, DurableState& state) {
  if (!experiment.request_id.empty()) state.request_ids[experiment.request_id] = experiment.id;
  for (uint32_t trial = 1; trial <= experiment.trials.size(); ++trial) {
    const std::vector<Attempt>& attempts = experiment.trials[trial - 1].attempts;
    for (uint32_t number = 1; number <= attempts.size(); ++number) {
      state.tokens.emplace(attempts[number - 1].token, AttemptId{{experiment.id, trial}, number});
    }
  }
}

// Version of the format. A program silently drops unknown fields: a field that it must know raises
// this.
constexpr uint32_t kSnapshotVersion = 6;

}  // namespace

std::vector<std::string> SaveSnapshot(const DurableState& state, const v1::MetricsMemory& metrics) {
  v1::SnapshotHead head;
  head.set_version(kSnapshotVersion);
  head.set_journal_id(state.journal_id);
  head.set_next_experiment(state.next_experiment);
  head.set_experiments(state.experiments.size());
  *head.mutable_metrics() = metrics;
  SaveMarks(state, head);
  SaveFigures(state, head);
  SaveQuotas(state, head);
  SaveNotices(state, head);
  std::vector<std::string> parts;
  parts.push_back(head.SerializeAsString());
  for (const auto& [id, experiment] : state.experiments) {
    v1::SnapshotExperiment saved;
    Save(experiment, saved);
    parts.push_back(saved.SerializeAsString());
  }
  return parts;
}

absl::StatusOr<LoadedSnapshot> LoadSnapshot(const std::vector<std::string>& parts) {
  v1::SnapshotHead head;
  if (parts.empty() || !head.ParseFromString(parts[0]) || head.journal_id() == 0 ||
      head.experiments() != parts.size() - 1) {
    return absl::DataLossError("the snapshot has no head that fits its parts");
  }
  if (head.version() > kSnapshotVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("the snapshot has version ", head.version(), "; this program reads up to ",
                     kSnapshotVersion, ": run the dtcoord that wrote it, or a later one"));
  }
  LoadedSnapshot loaded;
  loaded.state.journal_id = head.journal_id();
  loaded.state.next_experiment = head.next_experiment();
  loaded.metrics = std::move(*head.mutable_metrics());
  LoadMarks(head, loaded.state);
  LoadFigures(head, loaded.state);
  LoadQuotas(head, loaded.state);
  LoadNotices(head, loaded.state);
  for (size_t part = 1; part < parts.size(); ++part) {
    v1::SnapshotExperiment saved;
    if (!saved.ParseFromString(parts[part]) || saved.id() == 0) {
      return absl::DataLossError(absl::StrCat("part ", part, " of the snapshot cannot be read"));
    }
    Experiment& experiment = loaded.state.experiments[saved.id()];
    DT_RETURN_IF_ERROR(Load(saved, experiment));
    Index(experiment, loaded.state);
  }
  return loaded;
}

}  // namespace dt
