// client_calls.cc: see client_calls.h.
#include "coordinator/core/calls/client_calls.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/client_limits.h"
#include "common/client_trial.h"
#include "common/limits.h"
#include "common/metric_name.h"
#include "common/mutant.h"
#include "common/status.h"
#include "common/text.h"
#include "coordinator/core/calls/suggestion.h"
#include "coordinator/core/keep/journal.h"
#include "coordinator/core/model/names.h"
#include "coordinator/core/model/select.h"
#include "coordinator/core/run/attempts.h"
#include "coordinator/core/run/clients.h"
#include "coordinator/core/run/items.h"
#include "coordinator/core/run/schedule.h"
#include "coordinator/core/run/trial_rungs.h"
#include "spec/table/field.h"

namespace dt {
namespace {

// Curves have steps as doubles, which are not exact beyond.
constexpr auto kStepMost = static_cast<uint64_t>(spec::kWholeMax);

// A client's attempt, as a call names it.
struct Asked {
  AttemptId id;
  Worker* client = nullptr;     // has the attempt; nullptr: no client has it any more
  LiveAttempt* live = nullptr;  // while it goes on
};

// Returns the experiment, after a check that its trials run in clients.
template <typename Request>
absl::StatusOr<ExperimentId> ExperimentOf(const DurableState& durable, const Request& request) {
  DT_ASSIGN_OR_RETURN(const ExperimentId id,
                      ResolveExperiment(durable, request.experiment(), false));
  if (!IsClientTrial(GetExperiment(durable, id).spec.base().command())) {
    return absl::FailedPreconditionError(
        absl::StrCat("trials of experiment ", id, " run on workers; a client runs trials of an ",
                     "experiment with command: [", std::string(kClientTrialWord), "]"));
  }
  if (request.asker() == 0) return absl::InvalidArgumentError("asker is 0; give a random number");
  return id;
}

template <typename Request>
absl::StatusOr<Asked> FindAsked(Turn& turn, const Request& request) {
  DT_ASSIGN_OR_RETURN(const ExperimentId experiment, ExperimentOf(turn.durable(), request));
  DT_ASSIGN_OR_RETURN(const AttemptToken token, AttemptToken::FromBytes(request.attempt_token()));
  const auto found = turn.durable().tokens.find(token);
  const std::string name = ClientName(experiment, request.asker());
  if (found == turn.durable().tokens.end() || found->second.trial.experiment != experiment ||
      (FindAttempt(turn.durable(), found->second)->members.front().worker != name &&
       !Mutated(Mutant::kAnothersTrial))) {
    return absl::NotFoundError(
        absl::StrCat("experiment ", experiment, " gave this asker no such attempt; ask again"));
  }
  Asked asked{.id = found->second};
  Worker* client = HearClient(turn, GetExperiment(turn.durable(), experiment), request.asker());
  // The asker may have got another trial since.
  if (client == nullptr || client->attempt == nullptr) return asked;
  if (client->attempt->token != token && !Mutated(Mutant::kLateCallCounts)) return asked;
  asked.client = client;
  if (client->attempt->Open()) asked.live = client->attempt;
  return asked;
}

// Returns why there is no trial for the client now.
std::string WhyNone(const Experiment& experiment) {
  if (experiment.AllEnded()) return "every trial has ended";
  if (experiment.paused) return PausedText(experiment);
  const int32_t most = experiment.spec.search().max_concurrent();
  if (most > 0 && experiment.active >= static_cast<uint32_t>(most)) {
    return absl::StrCat(experiment.active, " trials run, and search.max_concurrent is ", most);
  }
  if (experiment.pending == 0 && !experiment.MoreMayCome()) {
    return absl::StrCat("other clients run the last ", experiment.active,
                        experiment.active == 1 ? " trial" : " trials");
  }
  return "a trial is not ready yet";
}

v1::AskTrialResponse NoneOf(const Experiment& experiment) {
  v1::AskTrialResponse response;
  response.set_reason(WhyNone(experiment));
  response.set_over(experiment.AllEnded());
  response.set_none_left(experiment.pending == 0 && !experiment.MoreMayCome());
  return response;
}

v1::AskTrialResponse AnswerOf(const State& state, const LiveAttempt& attempt) {
  const TrialId id = attempt.id.trial;
  const Experiment& experiment = GetExperiment(state.durable, id.experiment);
  const Trial& trial = GetTrial(state.durable, id);
  v1::AskTrialResponse response;
  response.set_trial(id.trial);
  response.set_attempt(attempt.id.attempt);
  response.set_attempt_token(attempt.token.ToBytes());
  v1::ExpandedTrial expanded = ExpandedOf(experiment, trial);
  response.mutable_values()->Swap(expanded.mutable_assignments());
  response.set_seed(SeedOf(experiment, trial));
  if (experiment.spec.search().method() != "asha") return response;
  for (const search::RungStep& rung : RungsOf(experiment, id, trial.target_steps, attempt.spec)) {
    response.add_rungs(rung.step);
  }
  return response;
}

absl::Status CheckMetrics(const google::protobuf::RepeatedPtrField<v1::Metric>& metrics) {
  if (metrics.size() > static_cast<int>(limits::kMetrics)) {
    return absl::InvalidArgumentError(
        absl::StrCat(metrics.size(), " metrics are given; the limit is ", limits::kMetrics));
  }
  std::set<std::string_view> names;
  for (const v1::Metric& metric : metrics) {
    if (IsMetricName(metric.name()) && names.insert(metric.name()).second) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("metric '", Printable(CleanText(metric.name(), limits::kMetricNameBytes)),
                     "' appears twice, or ", kMetricNameRule));
  }
  return absl::OkStatus();
}

v1::Evaluation EvaluationOf(uint64_t step,
                            const google::protobuf::RepeatedPtrField<v1::Metric>& metrics) {
  v1::Evaluation evaluation;
  evaluation.set_step(step);
  evaluation.set_split("val");
  evaluation.set_loss(kNotANumber);
  for (const v1::Metric& metric : metrics) {
    if (metric.name() == "val_loss") {
      evaluation.set_loss(metric.value());
    } else {
      *evaluation.add_metrics() = metric;
    }
  }
  return evaluation;
}

// Returns the newest evaluation of this attempt, or nullptr.
const KnownEvaluation* NewestOf(const Turn& turn, const AttemptId& id) {
  const std::vector<KnownEvaluation>& all = GetTrial(turn.state.durable, id.trial).evaluations;
  return all.empty() || all.back().attempt != id.attempt ? nullptr : &all.back();
}

bool IsSameValue(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// Returns whether all metrics are known with these values, so that the call is repeated. A metric
// that the search does not compare is not kept, so it counts as new: readers join the evaluations
// of a step. REQUIRES: the newest evaluation is of the same step.
bool AreKnown(const Turn& turn, const AttemptId& id,
              const google::protobuf::RepeatedPtrField<v1::Metric>& metrics) {
  const Experiment& experiment = GetExperiment(turn.state.durable, id.trial.experiment);
  const v1::Search& search = experiment.spec.search();
  const Trial& trial = GetTrial(turn.state.durable, id.trial);
  const KnownEvaluation& newest = trial.evaluations.back();
  const std::vector<std::string>& watched = experiment.watches.metrics;
  return std::all_of(metrics.begin(), metrics.end(), [&](const v1::Metric& metric) {
    if (metric.name() == search.metric()) return IsSameValue(metric.value(), newest.metric);
    if (metric.name() == "val_loss") return IsSameValue(metric.value(), newest.loss);
    const auto found = std::find(watched.begin(), watched.end(), metric.name());
    const auto place = static_cast<size_t>(found - watched.begin());
    return place < trial.watched.size() && IsSameValue(metric.value(), trial.watched[place]);
  });
}

struct MetricsAt {
  uint64_t step = 0;
  Last last = Last::kNo;
};

// Takes the metrics, unless the call is repeated.
absl::Status TakeMetrics(Turn& turn, const Asked& asked, MetricsAt at,
                         const google::protobuf::RepeatedPtrField<v1::Metric>& metrics) {
  DT_RETURN_IF_ERROR(CheckMetrics(metrics));
  const uint64_t step = at.step;
  const KnownEvaluation* newest = NewestOf(turn, asked.id);
  if (newest != nullptr && step < newest->step) {
    return absl::InvalidArgumentError(
        absl::StrCat("step ", step, " comes after step ", newest->step, "; steps never fall"));
  }
  const auto target = static_cast<uint64_t>(asked.live->spec.steps());
  if (step > (target > 0 ? target : kStepMost)) {
    return absl::InvalidArgumentError(
        absl::StrCat("step ", step, " is beyond the last one, ", target > 0 ? target : kStepMost));
  }
  const bool again = newest != nullptr && newest->step == step && AreKnown(turn, asked.id, metrics);
  if (again && !Mutated(Mutant::kReportCountsTwice)) return absl::OkStatus();
  v1::Item item;
  item.set_attempt_token(asked.live->token.ToBytes());
  *item.mutable_evaluation() = EvaluationOf(step, metrics);
  TakeClientItem(turn, *asked.client, item, at.last);
  return absl::OkStatus();
}

// Returns why the trial is no longer the client's.
std::string WhyStop(const DurableState& durable, const AttemptId& id) {
  const Trial& trial = GetTrial(durable, id.trial);
  const Attempt& attempt = trial.attempts[id.attempt - 1];
  if (trial.state == v1::TRIAL_STOPPING || attempt.state != AttemptState::kEnded) {
    return trial.message.empty() ? "it is being cancelled" : trial.message;
  }
  return attempt.message.empty() ? std::string(Name(attempt.cause)) : attempt.message;
}

// Gives the trial back, since somebody paused the experiment: another asker gets it later.
void GiveBack(Turn& turn, const Asked& asked, const std::string& why) {
  TakeRankEnd(turn, *asked.live,
              {.rank = 0, .cause = v1::CAUSE_PREEMPTED, .message = why, .step = asked.live->step});
}

v1::Cause CauseOf(v1::TellTrialRequest::End end) {
  switch (end) {
    case v1::TellTrialRequest::FINISHED:
      return v1::CAUSE_FINISHED;
    case v1::TellTrialRequest::FAILED:
      return v1::CAUSE_TRAINER_CRASH;
    case v1::TellTrialRequest::GIVEN_BACK:
      return v1::CAUSE_PREEMPTED;
    case v1::TellTrialRequest::PRUNED:
      return v1::CAUSE_STOPPED_EARLY;
    case v1::TellTrialRequest::END_UNSPECIFIED:
    case v1::TellTrialRequest_End_TellTrialRequest_End_INT_MIN_SENTINEL_DO_NOT_USE_:
    case v1::TellTrialRequest_End_TellTrialRequest_End_INT_MAX_SENTINEL_DO_NOT_USE_:
      break;
  }
  return v1::CAUSE_UNSPECIFIED;
}

absl::Status EndAsked(Turn& turn, const Asked& asked, const v1::TellTrialRequest& request) {
  const v1::Cause cause = CauseOf(request.end());
  const KnownEvaluation* newest = NewestOf(turn, asked.id);
  uint64_t step = newest == nullptr ? 0 : newest->step;
  if (request.end() == v1::TellTrialRequest::FINISHED) {
    step = std::max({step, uint64_t{1}, static_cast<uint64_t>(asked.live->spec.steps())});
  }
  if (!request.metrics().empty() && !Mutated(Mutant::kResultUnsaved)) {
    const uint64_t at = std::max(step, uint64_t{1});
    DT_RETURN_IF_ERROR(TakeMetrics(turn, asked, {at, Last::kYes}, request.metrics()));
  }
  const std::string message = !request.message().empty()
                                  ? CleanText(request.message(), limits::kTextBytes)
                              : cause == v1::CAUSE_FINISHED      ? ""
                              : cause == v1::CAUSE_STOPPED_EARLY ? "its client ended it early"
                              : cause == v1::CAUSE_PREEMPTED     ? "its client gave it back"
                                                                 : "its client says that it failed";
  TakeRankEnd(turn, *asked.live, {.rank = 0, .cause = cause, .message = message, .step = step});
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::AskTrialResponse> AskTrial(Turn& turn, const v1::AskTrialRequest& request) {
  DT_ASSIGN_OR_RETURN(const ExperimentId id, ExperimentOf(turn.durable(), request));
  const Experiment& experiment = GetExperiment(turn.durable(), id);
  const double seconds = request.lease_seconds();
  const absl::Duration lease = seconds == 0 ? limits::kClientLease : absl::Seconds(seconds);
  if (!(lease >= limits::kClientLeaseLeast && lease <= limits::kClientLeaseMost)) {
    return absl::InvalidArgumentError(absl::StrCat("lease_seconds is ", seconds, "; it is from ",
                                                   absl::ToInt64Seconds(limits::kClientLeaseLeast),
                                                   " to ",
                                                   absl::ToInt64Seconds(limits::kClientLeaseMost)));
  }
  Worker* client = HearClient(turn, experiment, request.asker());
  if (client != nullptr && (client->attempt == nullptr || !client->attempt->Open())) {
    DropClient(turn, *client);
    client = nullptr;
  }
  if (client == nullptr) {
    DT_ASSIGN_OR_RETURN(client,
                        AddClient(turn, experiment, {request.asker(), request.host(), lease}));
    PlacePending(turn, limits::kPlacementsPerEvent);
  }
  // A trial that cannot be resolved any more ends as it starts.
  if (client->attempt == nullptr || !client->attempt->Open()) {
    DropClient(turn, *client);
    return NoneOf(experiment);
  }
  RunInClient(turn, *client);
  return AnswerOf(turn.state, *client->attempt);
}

absl::StatusOr<v1::SuggestValueResponse> SuggestValue(Turn& turn,
                                                      const v1::SuggestValueRequest& request) {
  DT_ASSIGN_OR_RETURN(const Asked asked, FindAsked(turn, request));
  if (asked.live == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        "trial ", ToString(asked.id.trial), " has ended: ", WhyStop(turn.durable(), asked.id)));
  }
  v1::SuggestValueResponse response;
  DT_ASSIGN_OR_RETURN(*response.mutable_value(),
                      SuggestedValue(turn, asked.id.trial, request.parameter()));
  return response;
}

absl::StatusOr<v1::ReportTrialResponse> ReportTrial(Turn& turn,
                                                    const v1::ReportTrialRequest& request) {
  DT_ASSIGN_OR_RETURN(const Asked asked, FindAsked(turn, request));
  if (asked.live != nullptr && !request.metrics().empty()) {
    DT_RETURN_IF_ERROR(TakeMetrics(turn, asked, {request.step(), Last::kNo}, request.metrics()));
  }
  // The experiment is paused: there is nothing to save.
  if (asked.live != nullptr && asked.live->Open() && asked.live->saving) {
    GiveBack(turn, asked, "its client gave it back");
  }
  v1::ReportTrialResponse response;
  if (asked.live != nullptr && asked.live->Open()) return response;
  if (asked.client != nullptr) DropClient(turn, *asked.client);
  response.set_stop(true);
  response.set_reason(WhyStop(turn.durable(), asked.id));
  return response;
}

absl::StatusOr<v1::TellTrialResponse> TellTrial(Turn& turn, const v1::TellTrialRequest& request) {
  const v1::Cause cause = CauseOf(request.end());
  if (cause == v1::CAUSE_UNSPECIFIED) {
    return absl::InvalidArgumentError("end is missing: how did the trial end?");
  }
  DT_ASSIGN_OR_RETURN(const Asked asked, FindAsked(turn, request));
  v1::TellTrialResponse response;
  if (asked.live != nullptr) {
    DT_RETURN_IF_ERROR(EndAsked(turn, asked, request));
    response.set_counted(true);
  } else {
    response.set_counted(FindAttempt(turn.durable(), asked.id)->cause == cause);
  }
  if (asked.client != nullptr) DropClient(turn, *asked.client);
  const Trial& trial = GetTrial(turn.durable(), asked.id.trial);
  response.set_state(trial.state);
  response.set_cause(trial.cause);
  response.set_message(response.counted() ? trial.message : WhyStop(turn.durable(), asked.id));
  return response;
}

}  // namespace dt
