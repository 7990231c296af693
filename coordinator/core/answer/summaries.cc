#include "coordinator/core/answer/summaries.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "coordinator/core/answer/explain.h"
#include "coordinator/core/answer/time_left.h"
#include "coordinator/core/facts/drain_facts.h"
#include "coordinator/core/keep/held.h"
#include "coordinator/core/keep/progress.h"
#include "coordinator/core/keep/queue.h"
#include "coordinator/core/model/search_kind.h"
#include "coordinator/core/model/trial_metric.h"
#include "coordinator/core/model/trial_objectives.h"
#include "spec/objectives.h"
#include "spec/program.h"

namespace dt {
namespace {

double LatestLoss(const Experiment& experiment, const Trial& trial, const LiveAttempt* live) {
  const bool logged = live != nullptr && live->latest.has_value();
  const bool told =
      logged && (!spec::IsProgram(experiment.spec.base()) || !std::isnan(live->latest->loss()));
  return told ? live->latest->loss() : DurableLoss(experiment, trial);
}

const ExperimentProgress& ProgressOf(const State& state, ExperimentId id) {
  static const auto* none =
      new ExperimentProgress();  // for an experiment whose trials had no event yet
  const auto found = state.live.progress.find(id);
  return found == state.live.progress.end() ? *none : found->second;
}

// Calls `visit` for each active trial.
template <typename Visit>
void ForEachActive(const State& state, const Experiment& experiment, Visit visit) {
  const auto found = state.live.experiments.find(experiment.id);
  if (found == state.live.experiments.end()) return;
  for (const uint32_t number : found->second.active) visit(number);
}

// Returns the done share of all planned trials, or of the existing ones if no more come.
double Progress(const State& state, const Experiment& experiment) {
  const size_t all = experiment.MoreMayCome() ? experiment.planned : experiment.trials.size();
  if (all == 0) return experiment.AllEnded() ? 1 : 0;
  double done =
      static_cast<double>(ProgressOf(state, experiment.id).done) / static_cast<double>(kWholeTrial);
  ForEachActive(state, experiment, [&](uint32_t number) {
    const Trial& trial = experiment.trials[number - 1];
    const LiveAttempt* live = FindLiveAttempt(state, {experiment.id, number});
    const double told = live == nullptr ? 0 : live->progress;
    if (trial.target_steps == 0 || told > 0) {
      done += told;
      return;
    }
    const double step = static_cast<double>(ValidStep(state, {experiment.id, number}));
    done += std::min(1.0, step / static_cast<double>(trial.target_steps));
  });
  return done / static_cast<double>(all);
}

// Whether a rule ended the trial early.
enum class Early { kNo, kYes };
Early EarlyOf(const Trial& trial) {
  const bool early = trial.state == v1::TRIAL_FINISHED && trial.cause == v1::CAUSE_STOPPED_EARLY;
  return early ? Early::kYes : Early::kNo;
}

void FillBest(const State& state, const Experiment& experiment, v1::ExperimentSummary& summary) {
  summary.set_best_value(kNotANumber);
  const auto consider = [&](uint32_t number, double value) {
    if (!std::isfinite(value)) return;
    const double best = summary.best_value();
    const bool better =
        search::CostOf(GoalOf(experiment), value) < search::CostOf(GoalOf(experiment), best);
    const bool tied = value == best && number < summary.best_trial();
    if (summary.best_trial() != 0 && !better && !tied) return;
    summary.set_best_trial(number);
    summary.set_best_value(value);
  };
  const ExperimentProgress& progress = ProgressOf(state, experiment.id);
  const bool live = IsLive(experiment);
  const bool rungs = Climbs(experiment);
  const auto find = [&](Early early) {
    for (const auto& [cost, number] : progress.ranked) {
      const Trial& trial = experiment.trials[number - 1];
      // The last report of an active trial is newer than its durable value.
      if (live && IsActive(trial.state)) continue;
      if (rungs && early != EarlyOf(trial)) continue;
      consider(number, progress.trials[number - 1].value);
      break;
    }
  };
  find(Early::kNo);
  if (live) {
    ForEachActive(state, experiment, [&](uint32_t number) {
      const Trial& trial = experiment.trials[number - 1];
      if (ViolationOf(experiment, trial) > 0) return;
      consider(number, MetricOf(state, experiment, number));
    });
  }
  // A trial that a rung ended trained for less: it is the best only if there is no other.
  if (rungs && summary.best_trial() == 0) find(Early::kYes);
}

// Fills the objectives, the Pareto front and the constraints.
void FillGoals(const State& state, const Experiment& experiment, v1::ExperimentSummary& summary) {
  const v1::Search& search = experiment.spec.search();
  *summary.mutable_constraints() = search.constraints();
  const ExperimentProgress& progress = ProgressOf(state, experiment.id);
  summary.set_infeasible(progress.infeasible);
  if (!spec::HasSeveralObjectives(search)) return;
  *summary.mutable_metrics() = search.metrics();
  *summary.mutable_goals() = search.goals();
  for (const uint32_t number : progress.front) summary.add_pareto_trials(number);
}

void FillGoals(const State& state, TrialId id, v1::TrialSummary& summary) {
  const Experiment& experiment = GetExperiment(state.durable, id.experiment);
  const Trial& trial = GetTrial(state.durable, id);
  summary.set_infeasible(InfeasibleText(experiment, trial));
  for (const double value : ObjectiveValues(experiment, trial)) summary.add_objectives(value);
  summary.set_pareto(ProgressOf(state, id.experiment).front.contains(id.trial));
}

void FillLatest(const Trial& trial, const LiveAttempt* live, v1::TrialSummary& summary) {
  if (live != nullptr && live->latest.has_value()) {
    *summary.mutable_latest() = *live->latest;
  } else if (!trial.last_row.empty()) {
    summary.mutable_latest()->ParseFromString(trial.last_row);
  }
}

// Fills means over the trial, or those of its newest row until a chunk of rows has come.
void FillPace(const Trial& trial, const LiveAttempt* live, v1::TrialSummary& summary) {
  // Once the attempt has ended, its part is in that of the trial.
  v1::Pace pace = trial.pace;
  if (live != nullptr && !live->Is<Leaving>()) Add(live->pace, pace);
  if (!(pace.tokens() > 0)) pace = PaceOf(summary.latest());
  const bool timed = pace.step_seconds() > 0;
  if (pace.seconds() > 0) summary.set_tokens_per_second(pace.tokens() / pace.seconds());
  summary.set_comm_ratio(timed ? pace.comm_seconds() / pace.step_seconds() : kNotANumber);
  summary.set_comm_exposed_ratio(timed ? pace.comm_exposed_seconds() / pace.step_seconds()
                                       : kNotANumber);
}

// Fills the best value of the metric that compares trials, with its step, and the newest value.
void FillMetric(const State& state, TrialId id, v1::TrialSummary& summary) {
  const Experiment& experiment = GetExperiment(state.durable, id.experiment);
  summary.set_metric_value(MetricOf(state, experiment, id.trial));
  if (IsLive(experiment)) return;  // the metric is the newest loss itself
  if (spec::HasSeveralObjectives(experiment.spec.search())) {
    if (!std::isnan(summary.metric_value())) summary.set_metric_newest(summary.metric_value());
    return;
  }
  const ValueSummary values =
      SummarizeValues(GetTrial(state.durable, id), &KnownEvaluation::metric);
  const bool highest = GoalOf(experiment) == search::Goal::kMaximize;
  summary.set_metric_step(highest ? values.highest_step : values.lowest_step);
  if (!std::isnan(values.newest_number)) summary.set_metric_newest(values.newest_number);
}

// Fills the training time by the steady clock, so that setting the wall clock changes nothing.
void FillTraining(const Trial& trial, const LiveAttempt* live, absl::Duration now,
                  v1::TrialSummary& summary) {
  double seconds = static_cast<double>(TrainedMsOf(trial.attempts)) / 1000;
  const bool ran = std::any_of(trial.attempts.begin(), trial.attempts.end(),
                               [](const Attempt& attempt) { return attempt.ran; });
  const bool trains = live != nullptr && !live->Is<Leaving>() && trial.attempts.back().ran;
  if (trains) seconds += std::max(0.0, absl::ToDoubleSeconds(now - live->training_since));
  if (ran) summary.set_training_seconds(seconds);
}

void FillPrepared(const Trial& trial, v1::TrialSummary& summary) {
  if (trial.prepared.empty()) return;
  v1::Prepared prepared;
  prepared.ParseFromString(trial.prepared);
  summary.set_data_fingerprint(prepared.data_fingerprint());
  summary.set_model_parameters(prepared.model_parameters());
  summary.set_train_tokens(prepared.train_tokens());
  summary.set_tokens_per_step(prepared.tokens_per_step());
  *summary.mutable_provenance() = prepared.provenance();
}

}  // namespace

int64_t SubmittedAt(const State& state, const Experiment& experiment) {
  const int64_t now = state.live.event_wall_ms;
  if (experiment.submitted_wall_ms <= now) return experiment.submitted_wall_ms;
  // The clock was wrong then: the submission is not later than the first start.
  int64_t first = now;
  for (const Trial& trial : experiment.trials) {
    if (trial.attempts.empty()) continue;
    first = std::min(first, StartedAt(state, experiment, trial.attempts.front()));
  }
  return first;
}

int64_t StartedAt(const State& state, const Experiment& experiment, const Attempt& attempt) {
  const int64_t now = state.live.event_wall_ms;
  int64_t started = attempt.started_wall_ms;
  const auto live = state.live.attempts.find(attempt.token);
  // This process knows how long the attempt runs; under a minute of difference the clock is slewed.
  if (live != state.live.attempts.end() && live->second->started > -absl::InfiniteDuration()) {
    constexpr int64_t kClockStepMs = 60'000;
    const int64_t by_steady = WallMsOf(live->second->started, {state.live.event_at, now});
    const bool set = std::max(started, by_steady) - std::min(started, by_steady) > kClockStepMs;
    if (set) started = by_steady;
  }
  const bool known = experiment.submitted_wall_ms <= now;
  return std::min(now, known ? std::max(started, experiment.submitted_wall_ms) : started);
}

int64_t EndedAt(const State& state, int64_t ended_wall_ms, int64_t started_wall_ms) {
  if (ended_wall_ms == 0) return 0;
  return std::min(state.live.event_wall_ms, std::max(ended_wall_ms, started_wall_ms));
}

double MetricOf(const State& state, const Experiment& experiment, uint32_t trial) {
  const Trial& it = experiment.trials[trial - 1];
  if (!IsLive(experiment)) return DurableMetricOf(experiment, it);
  return LatestLoss(experiment, it, FindLiveAttempt(state, {experiment.id, trial}));
}

uint64_t ValidStep(const State& state, TrialId id) {
  const Trial& trial = GetTrial(state.durable, id);
  if (IsActive(trial.state)) {
    const LiveAttempt* live = FindLiveAttempt(state, id);
    return live == nullptr ? 0 : live->step;
  }
  if (IsTerminal(trial.state)) return trial.attempts.empty() ? 0 : trial.attempts.back().last_step;
  const KnownCheckpoint* newest = NewestCheckpoint(trial);
  return newest == nullptr ? 0 : newest->ref.step();
}

v1::ExperimentSummary Summarize(const State& state, const Experiment& experiment) {
  v1::ExperimentSummary summary;
  summary.set_experiment(experiment.id);
  summary.set_name(experiment.spec.name());
  summary.set_state(StateOf(experiment));
  summary.set_trials(static_cast<uint32_t>(experiment.trials.size()));
  summary.set_pending(experiment.pending);
  summary.set_running(experiment.active);
  summary.set_finished(experiment.finished);
  summary.set_failed(experiment.failed);
  summary.set_cancelled(experiment.cancelled);
  summary.set_oom(experiment.oom);
  summary.set_stopped_early(experiment.stopped_early);
  summary.set_planned_trials(experiment.planned);
  summary.set_search_end(experiment.search_end);
  summary.set_program(spec::IsProgram(experiment.spec.base()));
  summary.set_paused(experiment.paused);
  summary.set_paused_by(experiment.paused_by);
  summary.set_paused_why(experiment.paused_why);
  summary.set_priority(PriorityOf(experiment));
  summary.set_slots_held(SlotsHeld(state.live, experiment.id));
  summary.set_progress_ratio(Progress(state, experiment));
  const int64_t submitted = SubmittedAt(state, experiment);
  summary.set_submitted_wall_ms(submitted);
  summary.set_submitted_by(experiment.submitted_by);
  summary.set_archived(experiment.archived);
  summary.set_note(experiment.note);
  summary.set_ended_wall_ms(EndedAt(state, experiment.ended_wall_ms, submitted));
  FillBest(state, experiment, summary);
  summary.set_metric(experiment.spec.search().metric());
  summary.set_goal(experiment.spec.search().goal());
  FillGoals(state, experiment, summary);
  *summary.mutable_labels() = experiment.spec.labels();
  summary.set_eta_seconds(ExperimentEta(state, experiment));
  return summary;
}

v1::TrialSummary Summarize(const State& state, TrialId id, absl::Duration now) {
  const Experiment& experiment = GetExperiment(state.durable, id.experiment);
  const Trial& trial = GetTrial(state.durable, id);
  const LiveAttempt* live = FindLiveAttempt(state, id);
  const Shape shape = ShapeOf(experiment, trial);
  v1::TrialSummary summary;
  summary.set_experiment(id.experiment);
  summary.set_trial(id.trial);
  summary.set_state(trial.state);
  summary.set_cause(trial.cause);
  summary.set_message(trial.message);
  summary.set_attempts(static_cast<uint32_t>(trial.attempts.size()));
  summary.set_step(ValidStep(state, id));
  summary.set_target_steps(trial.target_steps);
  if (live != nullptr) summary.set_progress(live->progress);
  summary.set_hint(HintOf(state, id));
  *summary.mutable_assignments() = ExpandedOf(experiment, trial).assignments();
  FillLatest(trial, live, summary);
  FillPace(trial, live, summary);
  const ValueSummary losses = SummarizeValues(trial, &KnownEvaluation::loss);
  summary.set_val_loss(losses.newest);
  summary.set_best_val_loss(losses.lowest);
  summary.set_best_val_step(losses.lowest_step);
  summary.set_chosen(trial.mutations.empty() ? trial.chosen : trial.mutations.back().reason);
  FillMetric(state, id, summary);
  FillGoals(state, id, summary);
  summary.set_world_size(trial.attempts.empty()
                             ? shape.slots
                             : static_cast<int32_t>(trial.attempts.back().members.size()));
  summary.set_device(std::string(Name(shape.constraint.device)));
  summary.set_eta_seconds(EtaSeconds(state, id));
  summary.set_seed(SeedOf(experiment, trial));
  if (!trial.attempts.empty()) {
    summary.set_started_wall_ms(StartedAt(state, experiment, trial.attempts.front()));
    for (const GangMember& member : trial.attempts.back().members) {
      summary.add_workers(member.worker);
    }
  }
  if (const KnownCheckpoint* newest = NewestCheckpoint(trial)) {
    *summary.mutable_last_checkpoint() = newest->ref;
  }
  FillPrepared(trial, summary);
  FillTraining(trial, live, now, summary);
  summary.set_ended_wall_ms(EndedAt(state, trial.ended_wall_ms, summary.started_wall_ms()));
  if (trial.state == v1::TRIAL_PENDING) summary.set_waiting(WhyWaiting(state, id, now));
  return summary;
}

v1::WorkerSummary Summarize(const State& state, const Worker& worker, absl::Duration now) {
  v1::WorkerSummary summary;
  summary.set_worker(worker.name);
  summary.set_host(worker.hello.host());
  summary.set_device(worker.hello.device());
  summary.set_device_name(worker.hello.device_name());
  summary.set_state(std::string(Name(StateOf(state, worker))));
  if (worker.attempt != nullptr) {
    summary.set_doing(absl::StrCat(worker.attempt->Is<Leaving>() ? "leaving " : "",
                                   ToString(worker.attempt->id), " rank ", worker.rank));
  } else if (worker.trainer == v1::WorkerReport::TRAINER_STARTING) {
    summary.set_doing("starting its trainer");
  } else if (!worker.hello.no_trainer().empty()) {
    summary.set_doing("has no trainer, takes programs alone");
  }
  summary.set_silence_seconds(absl::ToDoubleSeconds(now - worker.last_heard));
  summary.set_program_version(worker.hello.program_version());
  summary.set_storage_id(worker.hello.storage_id());
  summary.set_programs(worker.hello.programs());
  summary.set_gpu_uuid(worker.hello.gpu_uuid());
  summary.set_peer(worker.peer);
  *summary.mutable_labels() = worker.hello.labels();
  const WorkerMark* mark = FindMark(state.durable, worker.name);
  if (mark == nullptr) return summary;
  summary.set_mark(MarkText(*mark));
  const bool tried = mark->quarantined && !state.live.resting.contains(worker.name);
  if (tried) *summary.mutable_mark() += "; takes one trial again";
  return summary;
}

v1::WorkerSummary SummarizeUnknown(const std::string& name, const WorkerMark& mark) {
  v1::WorkerSummary summary;
  summary.set_worker(name);
  summary.set_state(std::string(Name(WorkerState::kLost)));
  summary.set_silence_seconds(-1);
  summary.set_mark(MarkText(mark));
  return summary;
}

}  // namespace dt
