#include "coordinator/api/api.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/api_limits.h"
#include "common/limits.h"
#include "common/mutex.h"
#include "common/status.h"
#include "coordinator/api/acts.h"
#include "coordinator/api/answers.h"
#include "spec/collectives.h"

namespace dt {
namespace {

constexpr int kEvaluationsPage = 256;

absl::Status Busy(absl::string_view what) {
  return absl::ResourceExhaustedError(
      absl::StrCat("the coordinator is busy: ", what, "; try again in a second"));
}

// Returns a request with the call's options, as far as it has these fields.
template <typename Request>
Request RequestFor(const ApiCall& call) {
  Request request;
  if constexpr (requires { request.last(); }) {
    request.set_experiment(call.experiment);
    request.set_last(call.last);
  }
  if constexpr (requires { request.trial(); }) {
    request.set_trial(call.trials.empty() ? call.trial : call.trials.front());
  }
  if constexpr (requires { request.page_token(); }) {
    request.set_page_token(call.page_token);
    request.set_page_size(call.page_size);
  }
  if constexpr (requires { request.archived(); }) {
    *request.mutable_labels() = {call.labels.begin(), call.labels.end()};
    request.set_archived(call.archived);
  }
  if constexpr (requires { request.states(); }) {
    for (const v1::TrialState state : call.states) request.add_states(state);
  }
  return request;
}

v1::ListTrialsRequest OneTrial(ExperimentId experiment, uint32_t trial) {
  v1::ListTrialsRequest request;
  request.set_experiment(experiment);
  request.set_trial(trial);
  request.set_page_size(1);
  return request;
}

// Reads evaluations up to the first row: all evaluations come before the rows.
absl::StatusOr<std::vector<v1::EvaluationRow>> ReadEvaluations(StoreReader& reader,
                                                               ExperimentId experiment,
                                                               const ApiCall& call) {
  v1::ReadMetricsRequest request;
  request.set_experiment(experiment);
  request.set_trial(call.trial);
  request.set_page_size(kEvaluationsPage);
  std::vector<v1::EvaluationRow> newest;
  while (true) {
    DT_ASSIGN_OR_RETURN(const v1::ReadMetricsResponse page, reader.ReadMetrics(request));
    newest.insert(newest.end(), page.evaluations().begin(), page.evaluations().end());
    if (newest.size() > call.tail) {
      newest.erase(newest.begin(), newest.end() - static_cast<int64_t>(call.tail));
    }
    if (page.rows_size() > 0 || page.next_page_token().empty()) return newest;
    request.set_page_token(page.next_page_token());
  }
}

// Returns the rpcs of the acts, each once.
std::vector<std::string_view> ActRpcs() {
  std::vector<std::string_view> rpcs;
  for (const ApiRoute& route : ApiRoutes()) {
    if (route.http != HttpMethod::kPost) continue;
    const std::string_view rpc = RpcOf(route);
    if (std::find(rpcs.begin(), rpcs.end(), rpc) == rpcs.end()) rpcs.push_back(rpc);
  }
  return rpcs;
}

// Answers of several calls, collected from the threads that bring them.
struct Gathered {
  Mutex mutex;
  size_t left ABSL_GUARDED_BY(mutex) = 0;
  absl::Status status ABSL_GUARDED_BY(mutex);
  std::vector<v1::ListTrialsResponse> answers ABSL_GUARDED_BY(mutex);
};

}  // namespace

struct ApiTask {
  std::string key;
  ApiCall call;
};

template <typename Request, typename Response>
ApiRoute::Answer Api::Asks(api::Json (*to_json)(const Response&)) {
  return [to_json](Api& api, const TaskPtr& task) {
    api.Ask<Response>(task, RequestFor<Request>(task->call), [&api, task, to_json](auto found) {
      api.Work(task, [found, to_json](StoreReader&) { return JsonAnswer(to_json(*found)); });
    });
  };
}

std::vector<ApiRoute> Api::Questions() {
  return {
      {"/api/v1/status", {}, &Api::StartStatus},
      {"/api/v1/experiments",
       {"label", "archived", "page_size", "page_token"},
       Asks<v1::ListExperimentsRequest>(ExperimentsJson)},
      {"/api/v1/experiments/{experiment}", {}, Asks<v1::GetExperimentRequest>(ExperimentDocument)},
      {"/api/v1/experiments/{experiment}/trials",
       {"state", "page_size", "page_token"},
       Asks<v1::ListTrialsRequest>(TrialsJson)},
      {"/api/v1/experiments/{experiment}/trials/{trial}", {}, &Api::StartTrial},
      {"/api/v1/experiments/{experiment}/trials/{trial}/file", {}, &Api::StartTrialFile},
      {"/api/v1/experiments/{experiment}/trials/{trial}/evaluations",
       {"tail"},
       &Api::StartEvaluations},
      {"/api/v1/experiments/{experiment}/trials/{trial}/logs",
       {"rank", "tail", "since", "grep", "page_token"},
       &Api::StartLogs},
      {"/api/v1/experiments/{experiment}/curves",
       {"trial", "metric", "points"},
       &Api::StartCurves,
       limits::kApiCurvesFresh,
       CheckCurves},
      {"/api/v1/experiments/{experiment}/checkpoints",
       {"trial", "page_size", "page_token"},
       Asks<v1::ListCheckpointsRequest>(CheckpointsJson)},
      {"/api/v1/experiments/{experiment}/importance",
       {},
       &Api::StartImportance,
       limits::kApiImportanceFresh},
      {"/api/v1/experiments/{experiment}/report", {"format"}, &Api::StartReport},
      {"/api/v1/workers", {"page_size", "page_token"}, Asks<v1::ListWorkersRequest>(WorkersJson)},
      {"/api/v1/queue", {}, &Api::StartQueue},
      {"/api/v1/notices", {}, &Api::StartNotices},
      {"/api/v1/quotas", {}, Asks<v1::ListQuotasRequest>(QuotasJson)},
      {"/api/v1/access", {}},  // the gate answers it: the answer differs by caller
  };
}

const std::vector<ApiRoute>& ApiRoutes() {
  static const auto* const routes = [] {
    auto* all = new std::vector<ApiRoute>(Api::Questions());
    for (ApiRoute& act : ActRoutes()) all->push_back(std::move(act));
    return all;
  }();
  return *routes;
}

absl::StatusOr<ApiCall> ReadApiCall(std::string_view path, std::string_view query,
                                    HttpMethod http) {
  return ReadCallOf(ApiRoutes(), path, query, http);
}

void Api::Answer(const HttpRequest& request, const HttpReply& reply) {
  absl::StatusOr<ApiCall> call = ReadApiCall(request.path, request.query, request.method);
  if (!call.ok()) return reply(Share(ErrorAnswer(call.status())));
  if (request.method == HttpMethod::kPost) return Do(request, *call, reply);
  if (call->route->answer == nullptr) {
    HttpAnswer answer = JsonAnswer(gate_.Access(request, ActRpcs()));
    answer.etag = "";
    return reply(Share(std::move(answer)));
  }
  auto task = std::make_shared<ApiTask>();
  task->key = absl::StrCat(request.path, "?", request.query);
  task->call = *std::move(call);
  switch (cache_.Ask(task->key, clock_.Now().steady, reply)) {
    case AnswerCache::Found::kAnswered:
      return;
    case AnswerCache::Found::kBusy:
      return reply(
          Share(ErrorAnswer(Busy(absl::StrCat(limits::kApiCalls, " calls are being answered")))));
    case AnswerCache::Found::kMake:
      return task->call.route->answer(*this, task);
  }
}

void Api::Do(const HttpRequest& request, const ApiCall& call, const HttpReply& reply) {
  const std::string_view rpc = RpcOf(*call.route);
  const auto caller = gate_.AdmitActor(request, rpc);
  if (!caller.ok()) return reply(Share(ErrorAnswer(caller.status())));
  absl::StatusOr<Act> act = ReadAct(call, request.body, *caller ? (*caller)->name : "");
  if (!act.ok()) {
    gate_.Record(*caller, rpc, "", act.status(), request.peer);
    return reply(Share(ErrorAnswer(act.status())));
  }
  Continuation end = [this, caller = *caller, rpc, subject = act->subject, &made = call.route->act,
                      peer = request.peer, reply](const absl::Status& status, auto message) {
    const auto* submitted = dynamic_cast<const v1::SubmitResponse*>(message.get());
    const uint64_t number = submitted == nullptr ? 0 : submitted->experiment();
    gate_.Record(caller, rpc, number == 0 ? subject : absl::StrCat("experiment ", number), status,
                 peer);
    if (!status.ok()) return reply(Share(ErrorAnswer(status)));
    HttpAnswer answer = JsonAnswer(api::Document(made.kind, made.fields(*message)));
    answer.etag = "";
    reply(Share(std::move(answer)));
  };
  if (rpc == "Submit") return Copy(call, *act, std::move(end));
  ClientCall event;
  event.request = std::move(act->request);
  event.only_of = *caller ? OnlyOf(**caller, rpc) : "";
  ask_(std::move(event), std::move(end));
}

void Api::Copy(const ApiCall& call, const Act& act, Continuation then) {
  auto submit = static_cast<const v1::SubmitRequest&>(*act.request);
  ClientCall event;
  event.request = RequestFor<v1::GetExperimentRequest>(call);
  ask_(std::move(event), [this, then = std::move(then), submit = std::move(submit)](
                             const absl::Status& status, auto message) mutable {
    if (!status.ok()) return then(status, nullptr);
    const auto& found = static_cast<const v1::GetExperimentResponse&>(*message);
    submit.set_file_name(found.file_name());
    if (found.spec().has_code()) *submit.mutable_spec()->mutable_code() = found.spec().code();
    submit_(std::move(submit), [then](const absl::Status& end, const v1::SubmitResponse& answer) {
      then(end, std::make_unique<v1::SubmitResponse>(answer));
    });
  });
}

void Api::StartStatus(const TaskPtr& task) {
  Ask<v1::GetStatusResponse>(task, v1::GetStatusRequest(), [this, task](auto said) {
    Work(task, [this, said](StoreReader&) {
      v1::GetStatusResponse status = *said;
      status.set_http_address(facts_.http_address);
      status.set_started_wall_ms(WallMsOf(facts_.started, clock_.Now()));
      return JsonAnswer(StatusJson(status));
    });
  });
}

void Api::StartTrial(const TaskPtr& task) {
  const auto request = RequestFor<v1::ExplainTrialRequest>(task->call);
  Ask<v1::ExplainTrialResponse>(task, request, [this, task](auto found) {
    const auto answer = [this, task, found](auto experiment) {
      Work(task, [found, experiment](StoreReader& reader) {
        const auto hung = report::ReadHang(reader, *found);
        if (!hung.ok()) return ErrorAnswer(hung.status());
        return JsonAnswer(TrialDocument(*found, experiment->spec(), *hung));
      });
    };
    if (spec::StageWaitSeconds(found->trial().latest()) < 0) {  // no pipeline
      return answer(std::make_shared<const v1::GetExperimentResponse>());
    }
    v1::GetExperimentRequest of;
    of.set_experiment(found->trial().experiment());
    Ask<v1::GetExperimentResponse>(task, of, answer);
  });
}

void Api::StartNotices(const TaskPtr& task) {
  Finish(*task, JsonAnswer(NoticesJson(facts_.notices())));
}

void Api::StartLogs(const TaskPtr& task) {
  Resolve(task, [this, task](ExperimentId experiment) {
    Work(task, [task, experiment](StoreReader& reader) {
      const auto lines = ReadLogLines(reader, experiment, task->call);
      return lines.ok() ? JsonAnswer(LogsJson(*lines)) : ErrorAnswer(lines.status());
    });
  });
}

void Api::StartEvaluations(const TaskPtr& task) {
  Resolve(task, [this, task](ExperimentId experiment) {
    Work(task, [task, experiment](StoreReader& reader) {
      const auto rows = ReadEvaluations(reader, experiment, task->call);
      return rows.ok() ? JsonAnswer(EvaluationsJson(*rows)) : ErrorAnswer(rows.status());
    });
  });
}

void Api::StartCurves(const TaskPtr& task) {
  // Resolves the experiment once, so that all trials belong to the same one.
  Resolve(task, [this, task](ExperimentId experiment) {
    std::vector<v1::ListTrialsRequest> requests;
    for (const uint32_t trial : task->call.trials) requests.push_back(OneTrial(experiment, trial));
    AskAll(task, requests, [this, task, experiment](auto trials) {
      Work(task, [this, task, experiment, trials = std::move(trials)](StoreReader& reader) {
        return ReadCurves(reader, *task, experiment, trials);
      });
    });
  });
}

HttpAnswer Api::ReadCurves(StoreReader& reader, const ApiTask& task, ExperimentId experiment,
                           const std::vector<v1::ListTrialsResponse>& trials) {
  const ApiCall& call = task.call;
  std::vector<TrialCurves> curves;
  size_t rows_left = limits::kApiRowsRead;
  for (size_t i = 0; i < call.trials.size(); ++i) {
    const auto& found = trials[i].trials();
    const uint32_t attempts = found.empty() ? 0 : found.Get(0).attempts();
    // A trainer reports its model before its first row.
    const bool program = !found.empty() && found.Get(0).model_parameters() == 0;
    const auto source = program ? spec::RowSource::kProgram : spec::RowSource::kTrainer;
    const CurvesWanted wanted{experiment, call.trials[i], call.metrics, call.points, source};
    auto read = curves_.Read(reader, wanted, attempts, rows_left);
    if (!read.ok()) return ErrorAnswer(read.status());
    curves.push_back(*std::move(read));
  }
  HttpAnswer answer = JsonAnswer(CurvesJson(experiment, call, curves));
  const bool complete = std::all_of(curves.begin(), curves.end(),
                                    [](const TrialCurves& one) { return one.complete; });
  if (!complete) answer.etag = "";  // a later request gets more
  return answer;
}

// Asks for the first experiments with waiting trials, in order of number, and the first waiting
// trials of each.
void Api::StartQueue(const TaskPtr& task) {
  v1::ListExperimentsRequest all;
  all.set_page_size(static_cast<int32_t>(limits::kPageMax));
  Ask<v1::ListExperimentsResponse>(task, all, [this, task](auto listed) {
    std::vector<v1::ExperimentSummary> experiments;
    std::vector<v1::ListTrialsRequest> requests;
    for (const v1::ExperimentSummary& one : listed->experiments()) {
      if (one.pending() == 0) continue;
      experiments.push_back(one);
      if (requests.size() == limits::kApiQueueExperiments) continue;
      v1::ListTrialsRequest& request = requests.emplace_back();
      request.set_experiment(one.experiment());
      request.add_states(v1::TRIAL_PENDING);
      request.set_page_size(static_cast<int32_t>(limits::kApiQueueTrials));
    }
    AskAll(task, requests, [this, task, experiments](auto pages) {
      Work(task, [experiments, pages = std::move(pages)](StoreReader&) {
        std::vector<v1::TrialSummary> waiting;
        for (const v1::ListTrialsResponse& page : pages) {
          waiting.insert(waiting.end(), page.trials().begin(), page.trials().end());
        }
        return JsonAnswer(QueueJson(experiments, waiting));
      });
    });
  });
}

void Api::StartTrialFile(const TaskPtr& task) {
  const auto request = RequestFor<v1::GetExperimentRequest>(task->call);
  Ask<v1::GetExperimentResponse>(task, request, [this, task](auto found) {
    const auto one = OneTrial(found->summary().experiment(), task->call.trial);
    Ask<v1::ListTrialsResponse>(task, one, [this, task, found](auto trials) {
      Work(task, [found, trials](StoreReader&) {
        const auto file = TrialFileJson(*found, trials->trials(0));
        return file.ok() ? JsonAnswer(*file) : ErrorAnswer(file.status());
      });
    });
  });
}

void Api::StartReportJob(const TaskPtr& task, ReportJob job) {
  if (report_jobs_.fetch_add(1) >= limits::kApiReportJobs) {
    report_jobs_.fetch_sub(1);
    return Finish(*task,
                  ErrorAnswer(Busy(absl::StrCat(limits::kApiReportJobs, " reports are made"))));
  }
  GatherExperiment(ask_, task->call, job,
                   [this, task, job](absl::StatusOr<ExperimentPtr> experiment) {
                     const auto finish = [this, task](HttpAnswer answer) {
                       report_jobs_.fetch_sub(1);
                       Finish(*task, std::move(answer));
                     };
                     if (!experiment.ok()) return finish(ErrorAnswer(experiment.status()));
                     ReadWork make = [task, job, finish,
                                      experiment = *std::move(experiment)](StoreReader& reader) {
                       finish(AnswerReportJob(reader, task->call, job, *experiment));
                     };
                     if (!heavy_.Post(std::move(make)))
                       finish(ErrorAnswer(Busy("too many reports wait")));
                   });
}

void Api::Resolve(const TaskPtr& task, std::function<void(ExperimentId)> then) {
  v1::ListTrialsRequest request = OneTrial(task->call.experiment, task->call.trial);
  request.set_last(task->call.last);
  Ask<v1::ListTrialsResponse>(
      task, request, [then = std::move(then)](auto trials) { then(trials->experiment()); });
}

template <typename Response, typename Request>
void Api::Ask(const TaskPtr& task, Request request, Then<Response> then) {
  ClientCall call;
  call.request = std::move(request);
  ask_(std::move(call),
       [this, task, then = std::move(then)](const absl::Status& status, auto message) {
         if (!status.ok()) return Finish(*task, ErrorAnswer(status));
         then(std::shared_ptr<const Response>(static_cast<const Response*>(message.release())));
       });
}

void Api::AskAll(const TaskPtr& task, const std::vector<v1::ListTrialsRequest>& requests,
                 const std::function<void(std::vector<v1::ListTrialsResponse>)>& then) {
  if (requests.empty()) return then({});
  auto gathered = std::make_shared<Gathered>();
  {
    MutexLock lock(&gathered->mutex);
    gathered->left = requests.size();
    gathered->answers.resize(requests.size());
  }
  for (size_t i = 0; i < requests.size(); ++i) {
    ClientCall call;
    call.request = requests[i];
    ask_(std::move(call),
         [this, task, gathered, then, i](const absl::Status& status, auto message) {
           std::vector<v1::ListTrialsResponse> answers;
           absl::Status failed;
           {
             MutexLock lock(&gathered->mutex);
             if (status.ok()) {
               gathered->answers[i].Swap(static_cast<v1::ListTrialsResponse*>(message.get()));
             } else {
               gathered->status = status;
             }
             if (--gathered->left > 0) return;
             answers = std::move(gathered->answers);
             failed = gathered->status;
           }
           if (!failed.ok()) return Finish(*task, ErrorAnswer(failed));
           then(std::move(answers));
         });
  }
}

void Api::Work(const TaskPtr& task, std::function<HttpAnswer(StoreReader&)> make) {
  ReadWork work = [this, task, make = std::move(make)](StoreReader& reader) {
    Finish(*task, make(reader));
  };
  if (!work_.Post(std::move(work))) {
    Finish(*task, ErrorAnswer(Busy("too many answers wait to be made")));
  }
}

void Api::Finish(const ApiTask& task, HttpAnswer answer) {
  // An error may pass at once, and more rows may have been read.
  absl::Duration fresh;
  if (!answer.etag.empty()) {
    fresh = task.call.route->fresh;
    fresh += limits::kApiFreshPerMib * (static_cast<double>(answer.body.size()) / (1 << 20));
  }
  cache_.Put(task.key, std::move(answer), clock_.Now().steady, fresh);
}

}  // namespace dt
