#include "coordinator/core/calls/calls.h"

#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/status.h"
#include "coordinator/core/answer/plan/planning.h"
#include "coordinator/core/answer/queries.h"
#include "coordinator/core/calls/editing.h"
#include "coordinator/core/calls/quota_calls.h"
#include "coordinator/core/calls/submit.h"
#include "coordinator/core/keep/journal.h"
#include "coordinator/core/keep/queue.h"
#include "coordinator/core/model/names.h"
#include "coordinator/core/model/select.h"
#include "coordinator/core/run/attempts.h"
#include "coordinator/core/run/drains.h"

namespace dt {
namespace {

struct Target {
  ExperimentId experiment = 0;
  uint32_t trial = 0;  // 0: all
};

template <typename Request>
absl::StatusOr<Target> TargetOf(const DurableState& durable, const Request& request) {
  DT_ASSIGN_OR_RETURN(ExperimentId experiment,
                      ResolveExperiment(durable, request.experiment(), request.last()));
  DT_RETURN_IF_ERROR(CheckTrial(durable, {experiment, request.trial()}));
  return Target{experiment, request.trial()};
}

std::vector<TrialId> TrialsOf(const DurableState& durable, Target target) {
  std::vector<TrialId> trials;
  if (target.trial != 0) return {{target.experiment, target.trial}};
  const size_t count = GetExperiment(durable, target.experiment).trials.size();
  for (uint32_t trial = 1; trial <= count; ++trial) trials.push_back({target.experiment, trial});
  return trials;
}

absl::StatusOr<v1::CancelResponse> Cancel(Turn& turn, const v1::CancelRequest& request) {
  DT_ASSIGN_OR_RETURN(Target target, TargetOf(turn.durable(), request));
  if (request.reason().size() > limits::kTextBytes) {
    return absl::InvalidArgumentError(absl::StrCat("reason has ", request.reason().size(),
                                                   " bytes; the limit is ", limits::kTextBytes));
  }
  std::vector<TrialId> trials = TrialsOf(turn.durable(), target);
  std::erase_if(trials,
                [&turn](TrialId id) { return IsTerminal(GetTrial(turn.durable(), id).state); });
  v1::CancelResponse response;
  response.set_experiment(target.experiment);
  response.set_trials(static_cast<uint32_t>(trials.size()));
  const bool searches =
      target.trial == 0 && GetExperiment(turn.durable(), target.experiment).MoreMayCome();
  if (trials.empty() && !searches) return response;
  const std::string reason = request.reason().empty() ? "cancelled" : request.reason();
  v1::Record record;
  v1::CancelRequested& fact = *record.mutable_cancel_requested();
  fact.set_experiment(target.experiment);
  fact.set_trial(target.trial);
  fact.set_reason(reason);
  fact.set_who(WhoOf(request.who()));
  Journal(turn, std::move(record));
  KeepTicket(turn.state, target.experiment);
  for (const TrialId id : trials) CancelTrial(turn, id, reason);
  return response;
}

absl::StatusOr<v1::RetryResponse> Retry(Turn& turn, const v1::RetryRequest& request) {
  DT_ASSIGN_OR_RETURN(Target target, TargetOf(turn.durable(), request));
  if (!request.failed() && !request.cancelled()) {
    return absl::InvalidArgumentError(
        "retry which trials? set failed, cancelled or both (dtctl retry EXP --failed)");
  }
  v1::RetryResponse response;
  response.set_experiment(target.experiment);
  uint32_t count = 0;
  const std::string who = WhoOf(request.who());
  for (const TrialId id : TrialsOf(turn.durable(), target)) {
    const v1::TrialState state = GetTrial(turn.durable(), id).state;
    const bool wanted = (state == v1::TRIAL_FAILED && request.failed()) ||
                        (state == v1::TRIAL_CANCELLED && request.cancelled());
    if (!wanted) continue;
    v1::Record record;
    record.mutable_trial_retried()->set_experiment(id.experiment);
    record.mutable_trial_retried()->set_trial(id.trial);
    record.mutable_trial_retried()->set_who(who);
    Journal(turn, std::move(record));
    Enqueue(turn.state, id);
    ++count;
  }
  response.set_trials(count);
  return response;
}

// Makes members that still leave an attempt of this experiment hold it as an unknown one.
void ForgetAttempts(Turn& turn, ExperimentId experiment) {
  for (Worker& worker : turn.live().workers) {
    if (worker.attempt == nullptr || worker.attempt->id.trial.experiment != experiment) continue;
    const AttemptToken token = worker.attempt->token;
    worker.foreign.push_back(token);
    worker.unknown_tokens.push_back(token.ToBytes());
    ReleaseRank(turn, worker);
  }
}

absl::StatusOr<v1::DeleteResponse> Delete(Turn& turn, const v1::DeleteRequest& request) {
  DT_ASSIGN_OR_RETURN(ExperimentId id,
                      ResolveExperiment(turn.durable(), request.experiment(), false));
  const Experiment& experiment = GetExperiment(turn.durable(), id);
  if (!experiment.AllEnded()) {
    return absl::FailedPreconditionError(
        absl::StrCat("experiment ", id, " has ", experiment.pending + experiment.active,
                     " trials that have not ended; cancel it first (dtctl cancel ", id, ")"));
  }
  v1::DeleteResponse response;
  for (size_t i = 0; i < experiment.trials.size(); ++i) {
    for (const KnownCheckpoint& known : experiment.trials[i].checkpoints) {
      if (response.left_behind_size() == static_cast<int>(limits::kLeftBehindMax)) break;
      v1::CheckpointSummary& left = *response.add_left_behind();
      left.set_experiment(id);
      left.set_trial(static_cast<uint32_t>(i + 1));
      left.set_attempt(known.attempt);
      *left.mutable_checkpoint() = known.ref;
    }
  }
  for (const Trial& trial : experiment.trials) {
    if (!trial.attempts.empty()) turn.live().told.erase(trial.attempts.back().token);
  }
  ForgetAttempts(turn, id);
  v1::Record record;
  record.mutable_experiment_deleted()->set_experiment(id);
  Journal(turn, std::move(record));
  turn.effects.deletions.push_back(id);
  return response;
}

// Checks the owner. Errors: PermissionDenied if the call may only change one user's experiments,
// and this is another's. The call itself reports an experiment that does not exist.
template <typename Request>
absl::Status CheckOwn(const DurableState& durable, const Request& request,
                      const std::string& only_of) {
  if constexpr (std::is_same_v<Request, v1::CancelRequest> ||
                std::is_same_v<Request, v1::RetryRequest> ||
                std::is_same_v<Request, v1::ChangeRequest> ||
                std::is_same_v<Request, v1::DeleteRequest>) {
    if (only_of.empty()) return absl::OkStatus();
    bool last = false;
    if constexpr (requires { request.last(); }) last = request.last();
    DT_ASSIGN_OR_RETURN(const ExperimentId id,
                        ResolveExperiment(durable, request.experiment(), last));
    const std::string& owner = GetExperiment(durable, id).submitted_by;
    if (owner == only_of) return absl::OkStatus();
    return absl::PermissionDeniedError(absl::StrCat(
        "experiment ", id, " was submitted by ", owner.empty() ? "somebody unknown" : owner,
        ", and a submitter changes their own alone; ask ", owner.empty() ? "" : owner + " or ",
        "an admin"));
  }
  return absl::OkStatus();
}

// Answers the request; the type of the request selects the overload.
auto Answer(Turn& turn, Submission& submission, bool disk_low) {
  return Submit(turn, submission, disk_low);
}
auto Answer(Turn& turn, v1::CancelRequest& request, bool) { return Cancel(turn, request); }
auto Answer(Turn& turn, v1::RetryRequest& request, bool) { return Retry(turn, request); }
auto Answer(Turn& turn, v1::ChangeRequest& request, bool) { return Change(turn, request); }
auto Answer(Turn& turn, v1::DeleteRequest& request, bool) { return Delete(turn, request); }
auto Answer(Turn& turn, v1::MarkWorkerRequest& request, bool) { return MarkWorker(turn, request); }
auto Answer(Turn& turn, v1::SetQuotaRequest& request, bool) { return SetQuota(turn, request); }
absl::StatusOr<v1::ListQuotasResponse> Answer(Turn& turn, v1::ListQuotasRequest&, bool) {
  return ListQuotas(turn.state);
}
template <typename Request>
auto Answer(Turn& turn, Request& request, bool) {
  return Query(turn.state, request, turn.now.steady);
}

}  // namespace

void AnswerCall(Turn& turn, ClientCall& call) {
  Reply reply;
  reply.id = call.reply;
  std::visit(
      [&](auto& request) {
        if (reply.status = CheckOwn(turn.durable(), request, call.only_of); !reply.status.ok()) {
          return;
        }
        auto answer = Answer(turn, request, call.disk_low);
        if (answer.ok()) {
          using Response = std::decay_t<decltype(*answer)>;
          reply.response = std::make_unique<Response>(*std::move(answer));
        } else {
          reply.status = answer.status();
        }
      },
      call.request);
  turn.effects.replies.push_back(std::move(reply));
}

}  // namespace dt
