// apply.cc: folds records into durable state. Decides nothing: a record states what happened.
#include "coordinator/core/facts/apply.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/status.h"
#include "common/view.h"
#include "coordinator/core/facts/changes.h"
#include "coordinator/core/facts/drain_facts.h"
#include "coordinator/core/facts/network_facts.h"
#include "coordinator/core/facts/notification_facts.h"
#include "coordinator/core/facts/quota_facts.h"
#include "coordinator/core/facts/search_facts.h"
#include "coordinator/core/model/lifecycle.h"
#include "coordinator/core/model/trial_objectives.h"
#include "spec/metric.h"
#include "spec/objectives.h"

namespace dt {
namespace {

absl::Status NotKnown(std::string_view fact, std::string_view what) {
  return absl::FailedPreconditionError(
      absl::StrCat("journal: ", View(fact), " names ", View(what), ", which is not known"));
}

Experiment* Find(DurableState& state, ExperimentId id) {
  const auto found = state.experiments.find(id);
  return found == state.experiments.end() ? nullptr : &found->second;
}

struct Subject {  // trial with its experiment
  Experiment& experiment;
  Trial& trial;
  TrialId id;
};

template <typename Fact>
absl::StatusOr<Subject> SubjectOf(DurableState& state, const Fact& fact, std::string_view name) {
  const TrialId id{fact.experiment(), fact.trial()};
  Trial* trial = FindForApply(state, id);
  if (trial == nullptr) return NotKnown(name, ToString(id));
  return Subject{state.experiments.at(id.experiment), *trial, id};
}

template <typename Fact>
absl::StatusOr<Attempt*> AttemptOf(Trial& trial, const Fact& fact, std::string_view name) {
  if (fact.attempt() == 0 || fact.attempt() > trial.attempts.size()) {
    return NotKnown(name, ToString(AttemptId{{fact.experiment(), fact.trial()}, fact.attempt()}));
  }
  return &trial.attempts[fact.attempt() - 1];
}

uint32_t& CounterOf(Experiment& experiment, v1::TrialState state) {
  if (state == v1::TRIAL_FINISHED) return experiment.finished;
  if (state == v1::TRIAL_FAILED) return experiment.failed;
  if (state == v1::TRIAL_CANCELLED) return experiment.cancelled;
  return IsActive(state) ? experiment.active : experiment.pending;
}

template <typename State, typename Move>
absl::Status Illegal(std::string_view what, const std::string& id, State state, Move move) {
  return absl::FailedPreconditionError(absl::StrCat(View(what), " ", id, " is ", View(Name(state)),
                                                    ": '", View(Name(move)),
                                                    "' is not a legal move"));
}

absl::Status MoveTrial(Subject subject, TrialMove move) {
  const auto next = Next(subject.trial.state, move);
  if (!next.has_value()) return Illegal("trial", ToString(subject.id), subject.trial.state, move);
  --CounterOf(subject.experiment, subject.trial.state);
  subject.trial.state = *next;
  ++CounterOf(subject.experiment, subject.trial.state);
  return absl::OkStatus();
}

absl::Status MoveAttempt(const AttemptId& id, Attempt& attempt, AttemptMove move) {
  const auto next = Next(attempt.state, move);
  if (!next.has_value()) return Illegal("attempt", ToString(id), attempt.state, move);
  attempt.state = *next;
  return absl::OkStatus();
}

// Returns whether the values of `expanded` are in the experiment's lists.
bool RefersToValues(const Experiment& experiment, const v1::ExpandedTrial& expanded) {
  if (expanded.choices().empty()) return true;
  if (expanded.choices_size() != experiment.spec.parameters_size()) return false;
  for (int i = 0; i < expanded.choices_size(); ++i) {
    const auto values = static_cast<uint32_t>(experiment.spec.parameters(i).values_size());
    if (expanded.choices(i) >= values) return false;
  }
  return std::all_of(
      expanded.differs().begin(), expanded.differs().end(),
      [&experiment](uint32_t place) { return place < experiment.resolved_paths.size(); });
}

absl::Status AddTrials(Experiment& experiment,
                       const google::protobuf::RepeatedPtrField<v1::ExpandedTrial>& added) {
  for (const v1::ExpandedTrial& expanded : added) {
    if (expanded.trial() != experiment.trials.size() + 1) {
      return absl::FailedPreconditionError(absl::StrCat("journal: experiment ", experiment.id,
                                                        " does not number its trials from 1"));
    }
    if (!RefersToValues(experiment, expanded)) {
      return absl::FailedPreconditionError(
          absl::StrCat("journal: trial ", ToString(TrialId{experiment.id, expanded.trial()}),
                       " has values that its experiment does not list"));
    }
    expanded.SerializeToString(&experiment.trials.emplace_back().expanded);
    ++experiment.pending;
  }
  experiment.planned = std::max(experiment.planned, uint32_t(experiment.trials.size()));
  return absl::OkStatus();
}

absl::Status ApplyTrialsAdded(DurableState& state, const v1::TrialsAdded& fact, int64_t) {
  Experiment* experiment = Find(state, fact.experiment());
  if (experiment == nullptr) {
    return NotKnown("TrialsAdded", absl::StrCat("experiment ", fact.experiment()));
  }
  const bool reasons = fact.reasons().empty() || fact.reasons_size() == fact.trials_size();
  if (experiment->search_ended || experiment->cancel_requested || fact.trials().empty() ||
      !reasons) {
    return absl::FailedPreconditionError(
        absl::StrCat("journal: experiment ", experiment->id, " cannot gain ", fact.trials_size(),
                     " trials: its search has ended, or the record has no trials"));
  }
  experiment->ended_wall_ms = 0;
  experiment->archived = false;
  const size_t before = experiment->trials.size();
  DT_RETURN_IF_ERROR(AddTrials(*experiment, fact.trials()));
  for (int i = 0; i < fact.reasons_size(); ++i) {
    experiment->trials[before + static_cast<size_t>(i)].chosen = fact.reasons(i);
  }
  return absl::OkStatus();
}

absl::Status ApplyExperimentSubmitted(DurableState& state, const v1::ExperimentSubmitted& fact,
                                      int64_t wall_ms) {
  const bool grows = fact.planned_trials() > 0;
  if (fact.experiment() < state.next_experiment || (fact.trials().empty() && !grows)) {
    return absl::FailedPreconditionError(
        absl::StrCat("journal: experiment ", fact.experiment(), " with ", fact.trials_size(),
                     " trials; the next id is ", state.next_experiment));
  }
  Experiment& experiment = state.experiments[fact.experiment()];
  state.next_experiment = fact.experiment() + 1;
  experiment.id = fact.experiment();
  experiment.request_id = fact.request_id();
  experiment.request_digest = fact.request_digest();
  experiment.spec = fact.spec();
  experiment.watches = spec::WatchesOf(experiment.spec.search());
  experiment.file_name = fact.file_name();
  experiment.file_text = fact.file_text();
  experiment.submitted_wall_ms = wall_ms;
  experiment.submitted_by = fact.submitted_by();
  experiment.level = fact.level();
  experiment.planned = fact.planned_trials();
  experiment.resolved = fact.resolved();
  experiment.resolved_paths = {fact.resolved_paths().begin(), fact.resolved_paths().end()};
  DT_RETURN_IF_ERROR(AddTrials(experiment, fact.trials()));
  if (!fact.request_id().empty()) state.request_ids[fact.request_id()] = fact.experiment();
  return absl::OkStatus();
}

absl::Status ApplyAttemptStarted(DurableState& state, const v1::AttemptStarted& fact,
                                 int64_t wall_ms) {
  DT_ASSIGN_OR_RETURN(Subject subject, SubjectOf(state, fact, "AttemptStarted"));
  const AttemptId id{subject.id, fact.attempt()};
  const AttemptToken token = AttemptToken::FromBytes(fact.token()).value_or(AttemptToken{});
  if (token == AttemptToken{} || fact.attempt() != subject.trial.attempts.size() + 1 ||
      state.tokens.contains(token)) {
    return absl::FailedPreconditionError(
        absl::StrCat("journal: attempt ", ToString(id), " must be number ",
                     subject.trial.attempts.size() + 1, " of its trial, with a token of its own"));
  }
  DT_RETURN_IF_ERROR(MoveTrial(subject, TrialMove::kAttemptStarts));
  Attempt& attempt = subject.trial.attempts.emplace_back();
  attempt.token = token;
  attempt.started_wall_ms = wall_ms;
  attempt.reason = fact.reason();
  for (const v1::Member& member : fact.members()) {
    attempt.members.push_back({member.worker(), member.instance(), member.host(),
                               member.device_name(), member.local_rank(), member.lease_ms()});
  }
  if (fact.has_resume()) {
    attempt.resume = fact.resume();
    attempt.resumed_step = fact.resume().step();
  }
  subject.trial.retry_after_ms = 0;
  attempt.ordinal = ++subject.experiment.attempts;
  state.tokens.emplace(token, id);
  return absl::OkStatus();
}

absl::Status ApplyAttemptPrepared(DurableState& state, const v1::AttemptPrepared& fact, int64_t) {
  DT_ASSIGN_OR_RETURN(Subject subject, SubjectOf(state, fact, "AttemptPrepared"));
  DT_ASSIGN_OR_RETURN(Attempt * attempt, AttemptOf(subject.trial, fact, "AttemptPrepared"));
  DT_RETURN_IF_ERROR(MoveAttempt({subject.id, fact.attempt()}, *attempt, AttemptMove::kPrepares));
  subject.trial.target_steps = fact.prepared().target_steps();
  subject.trial.prepared = fact.prepared().SerializeAsString();
  return absl::OkStatus();
}

absl::Status ApplyAttemptRunning(DurableState& state, const v1::AttemptRunning& fact,
                                 int64_t wall_ms) {
  DT_ASSIGN_OR_RETURN(Subject subject, SubjectOf(state, fact, "AttemptRunning"));
  DT_ASSIGN_OR_RETURN(Attempt * attempt, AttemptOf(subject.trial, fact, "AttemptRunning"));
  DT_RETURN_IF_ERROR(MoveTrial(subject, TrialMove::kAttemptRuns));
  DT_RETURN_IF_ERROR(MoveAttempt({subject.id, fact.attempt()}, *attempt, AttemptMove::kRuns));
  attempt->ran = true;
  attempt->resumed_step = fact.resumed_step();
  attempt->running_wall_ms = wall_ms;
  return absl::OkStatus();
}

absl::Status ApplyAttemptEnded(DurableState& state, const v1::AttemptEnded& fact, int64_t wall_ms) {
  DT_ASSIGN_OR_RETURN(Subject subject, SubjectOf(state, fact, "AttemptEnded"));
  DT_ASSIGN_OR_RETURN(Attempt * attempt, AttemptOf(subject.trial, fact, "AttemptEnded"));
  const bool another = fact.retry_after_ms() >= 0;
  DT_RETURN_IF_ERROR(MoveAttempt({subject.id, fact.attempt()}, *attempt, AttemptMove::kEnds));
  DT_RETURN_IF_ERROR(MoveTrial(subject, another ? TrialMove::kAttemptEndsAndAnotherFollows
                                                : TrialMove::kAttemptEndsForGood));
  attempt->cause = fact.cause();
  attempt->message = fact.message();
  attempt->hint = fact.hint();
  attempt->deciding_rank = fact.rank();
  attempt->last_step = fact.step();
  attempt->ended_wall_ms = wall_ms;
  attempt->trained_ms = TrainedMs(*attempt, fact.trained_ms());
  attempt->uncharged = fact.uncharged();
  attempt->early = fact.early();
  if (fact.has_last_row()) {
    subject.trial.last_row = fact.last_row().SerializeAsString();
    subject.trial.last_loss = fact.last_row().loss();
  }
  Add(fact.pace(), subject.trial.pace);
  subject.trial.tries = CountEnd(subject.trial.tries, *attempt, fact.cause(),
                                 fact.uncharged() ? Charge::kFree : Charge::kCounts);
  subject.trial.retry_after_ms = another ? fact.retry_after_ms() : 0;
  CountForWorkers(state, {subject.id, fact.attempt()}, *attempt);
  return absl::OkStatus();
}

struct Result {
  Subject subject;
  Attempt& attempt;
};

// Finds the trial of an evaluation or checkpoint. Attempts before the newest are fenced off.
template <typename Fact>
absl::StatusOr<Result> ResultOf(DurableState& state, const Fact& fact, std::string_view name) {
  DT_ASSIGN_OR_RETURN(Subject subject, SubjectOf(state, fact, name));
  DT_ASSIGN_OR_RETURN(Attempt * attempt, AttemptOf(subject.trial, fact, name));
  const AttemptId id{subject.id, fact.attempt()};
  if (id.attempt != subject.trial.attempts.size() || IsTerminal(subject.trial.state)) {
    return absl::FailedPreconditionError(absl::StrCat("journal: a result of attempt ", ToString(id),
                                                      ", which is not the newest of a live trial"));
  }
  DT_RETURN_IF_ERROR(MoveAttempt(id, *attempt, AttemptMove::kReportsResult));
  return Result{subject, *attempt};
}

// Returns whether `a` ranks before `b`. An invalid value, or one that is no number, ranks last.
bool IsBetter(const Subject& subject, const KnownEvaluation& a, const KnownEvaluation& b) {
  const auto counts = [&](const KnownEvaluation& it) {
    return std::isfinite(it.metric) && IsValid(subject.trial, it.attempt, it.step);
  };
  if (!counts(a) || !counts(b)) return !counts(b);
  const search::Goal goal = GoalOf(subject.experiment);
  return search::CostOf(goal, a.metric) < search::CostOf(goal, b.metric);
}

absl::Status ApplyEvaluationRecorded(DurableState& state, const v1::EvaluationRecorded& fact,
                                     int64_t wall_ms) {
  DT_ASSIGN_OR_RETURN(const Result result, ResultOf(state, fact, "EvaluationRecorded"));
  const Subject& subject = result.subject;
  std::vector<KnownEvaluation>& all = subject.trial.evaluations;
  const std::string& metric = subject.experiment.spec.search().metric();
  all.push_back({fact.attempt(), fact.evaluation().step(), fact.evaluation().loss(),
                 spec::MetricIn(fact.evaluation(), metric)});
  const Weights weights = AwaitsMutation(subject.trial) ? Weights::kLeft : Weights::kOwn;
  CountEvaluation(subject.experiment, fact.evaluation(), weights, subject.trial);
  if (fact.evaluation().has_network()) {
    KeepFigure(state, result.attempt, {fact.experiment(), fact.trial()},
               fact.evaluation().network(), wall_ms);
  }
  if (all.size() > limits::kEvaluationsPerTrial) {
    // Drops the oldest, unless it is the best so far.
    all.erase(all.begin() + (IsBetter(subject, all[1], all[0]) ? 0 : 1));
  }
  return absl::OkStatus();
}

absl::Status ApplyCheckpointRegistered(DurableState& state, const v1::CheckpointRegistered& fact,
                                       int64_t) {
  DT_ASSIGN_OR_RETURN(const Result result, ResultOf(state, fact, "CheckpointRegistered"));
  const auto& [subject, attempt] = result;
  std::vector<KnownCheckpoint>& all = subject.trial.checkpoints;
  std::erase_if(all, [&fact](const KnownCheckpoint& known) {
    return known.ref.storage_id() == fact.checkpoint().storage_id() &&
           known.ref.path() == fact.checkpoint().path();
  });
  if (all.size() >= limits::kCheckpointsPerTrial) all.erase(all.begin());
  all.push_back({fact.attempt(), fact.checkpoint()});
  if (fact.checkpoint().step() > attempt.resumed_step) {
    attempt.progressed = true;
    CountProgress(state, subject.experiment, attempt);
    // An ended attempt has been counted already; its checkpoint is progress all the same.
    if (attempt.state == AttemptState::kEnded) {
      Tries& tries = subject.trial.tries;
      const uint32_t last = attempt.uncharged ? 0 : 1;
      tries = {std::min(tries.crashes, last), std::min(tries.losses, last)};
    }
  }
  return absl::OkStatus();
}

absl::Status ApplyCheckpointRemoved(DurableState& state, const v1::CheckpointRemoved& fact,
                                    int64_t) {
  DT_ASSIGN_OR_RETURN(Subject subject, SubjectOf(state, fact, "CheckpointRemoved"));
  std::erase_if(subject.trial.checkpoints, [&fact](const KnownCheckpoint& known) {
    return known.ref.storage_id() == fact.storage_id() && known.ref.path() == fact.path();
  });
  return absl::OkStatus();
}

absl::Status ApplyCancelRequested(DurableState& state, const v1::CancelRequested& fact,
                                  int64_t wall_ms) {
  Experiment* experiment = Find(state, fact.experiment());
  if (experiment == nullptr || fact.trial() > experiment->trials.size()) {
    return NotKnown("CancelRequested", ToString(TrialId{fact.experiment(), fact.trial()}));
  }
  if (fact.trial() == 0) {
    experiment->cancel_requested = true;
    if (experiment->MoreMayCome()) {
      experiment->search_ended = true;
      experiment->search_end = fact.reason();
      if (experiment->AllEnded()) experiment->ended_wall_ms = wall_ms;
    }
  }
  NoteCancel(*experiment, fact, wall_ms);
  const uint32_t first = fact.trial() == 0 ? 1 : fact.trial();
  const uint32_t last =
      fact.trial() == 0 ? static_cast<uint32_t>(experiment->trials.size()) : first;
  for (uint32_t number = first; number <= last; ++number) {
    Trial& trial = experiment->trials[number - 1];
    if (fact.trial() == 0 && IsTerminal(trial.state)) continue;
    // The first cancel gives the reason.
    if (trial.state != v1::TRIAL_STOPPING) trial.message = fact.reason();
    DT_RETURN_IF_ERROR(
        MoveTrial({*experiment, trial, {fact.experiment(), number}}, TrialMove::kCancelRequested));
  }
  return absl::OkStatus();
}

absl::Status ApplyTrialEnded(DurableState& state, const v1::TrialEnded& fact, int64_t wall_ms) {
  DT_ASSIGN_OR_RETURN(Subject subject, SubjectOf(state, fact, "TrialEnded"));
  const std::vector<Attempt>& attempts = subject.trial.attempts;
  if (!attempts.empty() && attempts.back().state != AttemptState::kEnded) {
    return absl::FailedPreconditionError(absl::StrCat(
        "journal: trial ", ToString(subject.id), " ends before its attempt ", attempts.size()));
  }
  TrialMove move = TrialMove::kEndsFailed;
  if (fact.state() == v1::TRIAL_FINISHED) move = TrialMove::kEndsFinished;
  if (fact.state() == v1::TRIAL_CANCELLED) move = TrialMove::kEndsCancelled;
  DT_RETURN_IF_ERROR(MoveTrial(subject, move));
  subject.trial.cause = fact.cause();
  subject.trial.message = fact.message();
  subject.trial.ended_wall_ms = wall_ms;
  if (fact.cause() == v1::CAUSE_OOM) ++subject.experiment.oom;
  if (fact.cause() == v1::CAUSE_STOPPED_EARLY) ++subject.experiment.stopped_early;
  if (subject.experiment.AllEnded()) subject.experiment.ended_wall_ms = wall_ms;
  return absl::OkStatus();
}

absl::Status ApplyTrialRetried(DurableState& state, const v1::TrialRetried& fact, int64_t wall_ms) {
  DT_ASSIGN_OR_RETURN(Subject subject, SubjectOf(state, fact, "TrialRetried"));
  DT_RETURN_IF_ERROR(MoveTrial(subject, TrialMove::kRetriedByPerson));
  NoteRetry(subject.experiment, fact, wall_ms);
  Trial& trial = subject.trial;
  if (trial.cause == v1::CAUSE_OOM) --subject.experiment.oom;
  if (trial.cause == v1::CAUSE_STOPPED_EARLY) --subject.experiment.stopped_early;
  trial.cause = v1::CAUSE_UNSPECIFIED;
  trial.message.clear();
  trial.ended_wall_ms = 0;
  trial.tries = Tries{};
  trial.retry_after_ms = 0;
  ForgetEvaluations(trial);
  // Takes back its failure on the way to a rung.
  std::erase_if(trial.rungs, [](const KnownRung& known) { return std::isinf(known.cost); });
  subject.experiment.ended_wall_ms = 0;
  subject.experiment.cancel_requested = false;
  subject.experiment.archived = false;
  return absl::OkStatus();
}

// Checks that the journal begins with its id.
absl::Status CheckFirst(const DurableState& state, const v1::Record& record) {
  if (state.journal_id != 0 || record.has_journal_created()) return absl::OkStatus();
  return absl::FailedPreconditionError("journal: the first record must be JournalCreated");
}

absl::Status ApplyNotice(DurableState& state, const v1::Record& record) {
  return record.has_notice_raised() ? ApplyNoticeRaised(state, record.notice_raised())
                                    : ApplyNoticeSettled(state, record.notice_settled());
}

absl::Status OfNewerVersion() {
  return absl::FailedPreconditionError(
      "journal: a record of a kind that this version does not know; a newer dtcoord wrote it");
}

}  // namespace

absl::Status Apply(DurableState& state, const v1::Record& record) {
  const int64_t wall_ms = record.wall_time_ms();
  DT_RETURN_IF_ERROR(CheckFirst(state, record));
  switch (record.fact_case()) {
    case v1::Record::kJournalCreated:
      return ApplyJournalCreated(state, record.journal_created());
    case v1::Record::kExperimentSubmitted:
      return ApplyExperimentSubmitted(state, record.experiment_submitted(), wall_ms);
    case v1::Record::kAttemptStarted:
      return ApplyAttemptStarted(state, record.attempt_started(), wall_ms);
    case v1::Record::kAttemptPrepared:
      return ApplyAttemptPrepared(state, record.attempt_prepared(), wall_ms);
    case v1::Record::kAttemptRunning:
      return ApplyAttemptRunning(state, record.attempt_running(), wall_ms);
    case v1::Record::kAttemptEnded:
      return ApplyAttemptEnded(state, record.attempt_ended(), wall_ms);
    case v1::Record::kEvaluation:
      return ApplyEvaluationRecorded(state, record.evaluation(), wall_ms);
    case v1::Record::kCheckpoint:
      return ApplyCheckpointRegistered(state, record.checkpoint(), wall_ms);
    case v1::Record::kCheckpointRemoved:
      return ApplyCheckpointRemoved(state, record.checkpoint_removed(), wall_ms);
    case v1::Record::kCancelRequested:
      return ApplyCancelRequested(state, record.cancel_requested(), wall_ms);
    case v1::Record::kTrialEnded:
      return ApplyTrialEnded(state, record.trial_ended(), wall_ms);
    case v1::Record::kTrialRetried:
      return ApplyTrialRetried(state, record.trial_retried(), wall_ms);
    case v1::Record::kExperimentDeleted:
      return ApplyExperimentDeleted(state, record.experiment_deleted());
    case v1::Record::kTrialsAdded:
      return ApplyTrialsAdded(state, record.trials_added(), wall_ms);
    case v1::Record::kSearchEnded:
      return ApplySearchEnded(state, record.search_ended(), wall_ms);
    case v1::Record::kValueSuggested:
      return ApplyValueSuggested(state, record.value_suggested());
    case v1::Record::kRungDecided:
      return ApplyRungDecided(state, record.rung_decided());
    case v1::Record::kNumbersSkipped:
      return ApplyNumbersSkipped(state, record.numbers_skipped());
    case v1::Record::kStopRequested:
      return ApplyStopRequested(state, record.stop_requested());
    case v1::Record::kExperimentChanged:
      return ApplyExperimentChanged(state, record.experiment_changed(), wall_ms);
    case v1::Record::kQuotaSet:
      return ApplyQuotaSet(state, record.quota_set(), wall_ms);
    case v1::Record::kEnvironmentResolved:
      return ApplyEnvironmentResolved(state, record.environment_resolved());
    case v1::Record::kWorkerMarked:
      return ApplyWorkerMarked(state, record.worker_marked(), wall_ms);
    case v1::Record::kTrialMutated:
      return ApplyTrialMutated(state, record.trial_mutated());
    case v1::Record::kNoticeRaised:
    case v1::Record::kNoticeSettled:
      return ApplyNotice(state, record);
    case v1::Record::FACT_NOT_SET:
      break;
  }
  return OfNewerVersion();
}

}  // namespace dt
