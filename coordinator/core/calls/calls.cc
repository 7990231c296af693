#include "coordinator/core/calls/calls.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/status.h"
#include "coordinator/core/answer/plan/planning.h"
#include "coordinator/core/answer/queries.h"
#include "coordinator/core/calls/client_calls.h"
#include "coordinator/core/calls/editing.h"
#include "coordinator/core/calls/quota_calls.h"
#include "coordinator/core/calls/submit.h"
#include "coordinator/core/keep/journal.h"
#include "coordinator/core/keep/queue.h"
#include "coordinator/core/model/names.h"
#include "coordinator/core/model/select.h"
#include "coordinator/core/run/attempts.h"
#include "coordinator/core/run/drains.h"
#include "google/protobuf/descriptor.h"

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

using Message = google::protobuf::Message;
using Answered = absl::StatusOr<std::unique_ptr<Message>>;
using CallFunction = std::function<Answered(Turn&, const Message& request)>;
using CallRow = std::pair<const google::protobuf::Descriptor* const, CallFunction>;

template <typename Response>
Answered Boxed(absl::StatusOr<Response> answer) {
  if (!answer.ok()) return answer.status();
  return std::make_unique<Response>(*std::move(answer));
}

// Makes the row of a call that changes something.
template <typename Response, typename Request>
CallRow Changes(absl::StatusOr<Response> (*answer)(Turn&, const Request&)) {
  return {Request::descriptor(), [answer](Turn& turn, const Message& request) {
            return Boxed(answer(turn, static_cast<const Request&>(request)));
          }};
}

// Makes the row of a question. The type of the request selects the overload.
template <typename Request, typename Response>
CallRow Asks(absl::StatusOr<Response> (*answer)(const State&, const Request&, absl::Duration)) {
  return {Request::descriptor(), [answer](Turn& turn, const Message& request) {
            return Boxed(answer(turn.state, static_cast<const Request&>(request), turn.now.steady));
          }};
}

// The calls and the functions that answer them. rpc/ prepares Submit and Plan, and reads rows and
// code elsewhere.
const std::map<const google::protobuf::Descriptor*, CallFunction>& Calls() {
  static const auto* const calls = new std::map<const google::protobuf::Descriptor*, CallFunction>{
      Changes(AskTrial),
      Changes(Cancel),
      Changes(Change),
      Changes(Delete),
      Changes(MarkWorker),
      Changes(ReportTrial),
      Changes(Retry),
      Changes(SetQuota),
      Changes(SuggestValue),
      Changes(TellTrial),
      Asks<v1::ExplainTrialRequest>(Query),
      Asks<v1::GetExperimentRequest>(Query),
      Asks<v1::GetStatusRequest>(Query),
      Asks<v1::ListCheckpointsRequest>(Query),
      Asks<v1::ListExperimentsRequest>(Query),
      Asks<v1::ListQuotasRequest>(Query),
      Asks<v1::ListTrialsRequest>(Query),
      Asks<v1::ListWorkersRequest>(Query),
  };
  return *calls;
}

// Checks the owner of the experiment that the request names, if the call may only change one user's
// experiments. Errors: PermissionDenied if it is another's. The call itself reports an experiment
// that does not exist.
absl::Status CheckOwn(const DurableState& durable, const Message& request,
                      const std::string& only_of) {
  const google::protobuf::Descriptor& fields = *request.GetDescriptor();
  const google::protobuf::FieldDescriptor* named = fields.FindFieldByName("experiment");
  if (only_of.empty()) return absl::OkStatus();
  if (named == nullptr) {
    return absl::PermissionDeniedError(absl::StrCat(
        fields.name(), " names no experiment, so a submitter may not send it; ask an admin"));
  }
  const google::protobuf::FieldDescriptor* newest = fields.FindFieldByName("last");
  const google::protobuf::Reflection& reflection = *request.GetReflection();
  const bool last = newest != nullptr && reflection.GetBool(request, newest);
  DT_ASSIGN_OR_RETURN(const ExperimentId id,
                      ResolveExperiment(durable, reflection.GetUInt64(request, named), last));
  const std::string& owner = GetExperiment(durable, id).submitted_by;
  if (owner == only_of) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat("experiment ", id, " was submitted by ",
                                                  owner.empty() ? "somebody unknown" : owner,
                                                  ", and a submitter changes their own alone; ask ",
                                                  owner.empty() ? "" : owner + " or ", "an admin"));
}

Answered Answer(Turn& turn, const ControlRequest& request, const ClientCall& call) {
  const auto found = Calls().find((*request).GetDescriptor());
  if (found == Calls().end()) {
    return absl::UnimplementedError(
        absl::StrCat("the coordinator has no answer to ", (*request).GetDescriptor()->name()));
  }
  DT_RETURN_IF_ERROR(CheckOwn(turn.durable(), *request, call.only_of));
  return found->second(turn, *request);
}
Answered Answer(Turn& turn, Submission& submission, const ClientCall& call) {
  return Boxed(Submit(turn, submission, call.disk_low));
}
Answered Answer(Turn& turn, const PlanAsk& ask, const ClientCall&) {
  return Boxed(Query(turn.state, ask, turn.now.steady));
}

}  // namespace

bool AnswersCall(const google::protobuf::Descriptor& request) { return Calls().contains(&request); }

void AnswerCall(Turn& turn, ClientCall& call) {
  Answered answer =
      std::visit([&](auto& request) { return Answer(turn, request, call); }, call.request);
  Reply reply;
  reply.id = call.reply;
  if (answer.ok()) {
    reply.response = *std::move(answer);
  } else {
    reply.status = answer.status();
  }
  turn.effects.replies.push_back(std::move(reply));
}

}  // namespace dt
