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

template <typename Request>
Request Choose(const ApiCall& call) {
  Request request;
  request.set_experiment(call.experiment);
  request.set_last(call.last);
  return request;
}

template <typename Request>
Request ChoosePage(const ApiCall& call, Request request) {
  request.set_page_token(call.page_token);
  request.set_page_size(call.page_size);
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

// Answers of several calls, collected from the threads that bring them.
struct Gathered {
  Mutex mutex;
  size_t left ABSL_GUARDED_BY(mutex) = 0;
  absl::Status status ABSL_GUARDED_BY(mutex);
  std::vector<v1::ListTrialsResponse> answers ABSL_GUARDED_BY(mutex);
};

}  // namespace

struct Api::Task {
  std::string key;
  ApiCall call;
};

void Api::Answer(const HttpRequest& request, const HttpReply& reply) {
  absl::StatusOr<ApiCall> call = ReadApiCall(request.path, request.query, request.method);
  if (!call.ok()) return reply(Share(ErrorAnswer(call.status())));
  if (request.method == HttpMethod::kPost) return Do(request, *call, reply);
  if (call->method == ApiMethod::kAccess) {  // differs by caller
    HttpAnswer answer = JsonAnswer(gate_.Access(request));
    answer.etag = "";
    return reply(Share(std::move(answer)));
  }
  auto task = std::make_shared<Task>();
  task->key = absl::StrCat(request.path, "?", request.query);
  task->call = *std::move(call);
  switch (cache_.Ask(task->key, clock_.Now().steady, reply)) {
    case AnswerCache::Found::kAnswered:
      return;
    case AnswerCache::Found::kBusy:
      return reply(
          Share(ErrorAnswer(Busy(absl::StrCat(limits::kApiCalls, " calls are being answered")))));
    case AnswerCache::Found::kMake:
      return Start(task);
  }
}

void Api::Do(const HttpRequest& request, const ApiCall& call, const HttpReply& reply) {
  const std::string_view rpc = RpcOf(call.method);
  const auto caller = gate_.AdmitActor(request, rpc);
  if (!caller.ok()) return reply(Share(ErrorAnswer(caller.status())));
  absl::StatusOr<Act> act = ReadAct(call, request.body, *caller ? (*caller)->name : "");
  if (!act.ok()) {
    gate_.Record(*caller, rpc, "", act.status(), request.peer);
    return reply(Share(ErrorAnswer(act.status())));
  }
  ClientCall event;
  event.request = std::move(act->request);
  event.only_of = *caller ? OnlyOf(**caller, rpc) : "";
  ask_(std::move(event),
       [this, caller = *caller, rpc, subject = act->subject, kind = act->kind, fields = act->fields,
        peer = request.peer, reply](const absl::Status& status, auto message) {
         gate_.Record(caller, rpc, subject, status, peer);
         if (!status.ok()) return reply(Share(ErrorAnswer(status)));
         HttpAnswer answer = JsonAnswer(api::Document(kind, fields(*message)));
         answer.etag = "";
         reply(Share(std::move(answer)));
       });
}

void Api::Start(const TaskPtr& task) {
  const ApiCall& call = task->call;
  switch (call.method) {
    case ApiMethod::kStatus:
      return StartStatus(task);
    case ApiMethod::kExperiments: {
      auto request = ChoosePage(call, v1::ListExperimentsRequest());
      *request.mutable_labels() = {call.labels.begin(), call.labels.end()};
      request.set_archived(call.archived);
      return AskFor<v1::ListExperimentsResponse>(task, request, ExperimentsJson);
    }
    case ApiMethod::kExperiment:
      return AskFor<v1::GetExperimentResponse>(task, Choose<v1::GetExperimentRequest>(call),
                                               ExperimentDocument);
    case ApiMethod::kTrials: {
      auto request = ChoosePage(call, Choose<v1::ListTrialsRequest>(call));
      for (const v1::TrialState state : call.states) request.add_states(state);
      return AskFor<v1::ListTrialsResponse>(task, request, TrialsJson);
    }
    case ApiMethod::kTrial:
      return StartTrial(task);
    case ApiMethod::kTrialFile:
      return StartTrialFile(task);
    case ApiMethod::kCurves:
      return StartCurves(task);
    case ApiMethod::kEvaluations:
    case ApiMethod::kLogs:
      return StartReading(task);
    case ApiMethod::kCheckpoints:
      return StartCheckpoints(task);
    case ApiMethod::kImportance:
    case ApiMethod::kReport:
      return StartReportJob(task);
    case ApiMethod::kWorkers:
      return AskFor<v1::ListWorkersResponse>(task, ChoosePage(call, v1::ListWorkersRequest()),
                                             WorkersJson);
    case ApiMethod::kQueue:
      return StartQueue(task);
    case ApiMethod::kNotices:
      return Finish(*task, JsonAnswer(NoticesJson(facts_.notices())));
    case ApiMethod::kQuotas:
      return AskFor<v1::ListQuotasResponse>(task, v1::ListQuotasRequest(), QuotasJson);
    case ApiMethod::kAccess:
    case ApiMethod::kPause:
    case ApiMethod::kResume:
    case ApiMethod::kChange:
    case ApiMethod::kCancel:
    case ApiMethod::kCancelTrial:
    case ApiMethod::kRetry:
    case ApiMethod::kRetryTrial:
    case ApiMethod::kMarkWorker:
    case ApiMethod::kSetQuota:
      return;  // handled in Answer
  }
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
  auto request = Choose<v1::ExplainTrialRequest>(task->call);
  request.set_trial(task->call.trial);
  Ask<v1::ExplainTrialResponse>(task, request, [this, task](auto found) {
    const auto answer = [this, task, found](auto experiment) {
      Work(task, [found, experiment](StoreReader&) {
        return JsonAnswer(TrialDocument(*found, experiment->spec()));
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

void Api::StartCheckpoints(const TaskPtr& task) {
  const ApiCall& call = task->call;
  auto request = ChoosePage(call, Choose<v1::ListCheckpointsRequest>(call));
  if (!call.trials.empty()) request.set_trial(call.trials.front());
  AskFor<v1::ListCheckpointsResponse>(task, request, CheckpointsJson);
}

void Api::StartReading(const TaskPtr& task) {
  Resolve(task, [this, task](ExperimentId experiment) {
    Work(task, [task, experiment](StoreReader& reader) {
      if (task->call.method == ApiMethod::kLogs) {
        const auto lines = ReadLogLines(reader, experiment, task->call);
        return lines.ok() ? JsonAnswer(LogsJson(*lines)) : ErrorAnswer(lines.status());
      }
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

HttpAnswer Api::ReadCurves(StoreReader& reader, const Task& task, ExperimentId experiment,
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
  auto request = Choose<v1::GetExperimentRequest>(task->call);
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

void Api::StartReportJob(const TaskPtr& task) {
  if (report_jobs_.fetch_add(1) >= limits::kApiReportJobs) {
    report_jobs_.fetch_sub(1);
    return Finish(*task,
                  ErrorAnswer(Busy(absl::StrCat(limits::kApiReportJobs, " reports are made"))));
  }
  GatherExperiment(ask_, task->call, [this, task](absl::StatusOr<ExperimentPtr> experiment) {
    const auto finish = [this, task](HttpAnswer answer) {
      report_jobs_.fetch_sub(1);
      Finish(*task, std::move(answer));
    };
    if (!experiment.ok()) return finish(ErrorAnswer(experiment.status()));
    ReadWork make = [task, finish, experiment = *std::move(experiment)](StoreReader& reader) {
      finish(AnswerReportJob(reader, task->call, *experiment));
    };
    if (!heavy_.Post(std::move(make))) finish(ErrorAnswer(Busy("too many reports wait")));
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

template <typename Response, typename Request>
void Api::AskFor(const TaskPtr& task, Request request, api::Json (*to_json)(const Response&)) {
  Ask<Response>(task, std::move(request), [this, task, to_json](auto said) {
    Work(task, [said, to_json](StoreReader&) { return JsonAnswer(to_json(*said)); });
  });
}

void Api::Work(const TaskPtr& task, std::function<HttpAnswer(StoreReader&)> make) {
  ReadWork work = [this, task, make = std::move(make)](StoreReader& reader) {
    Finish(*task, make(reader));
  };
  if (!work_.Post(std::move(work))) {
    Finish(*task, ErrorAnswer(Busy("too many answers wait to be made")));
  }
}

void Api::Finish(const Task& task, HttpAnswer answer) {
  // An error may pass at once, and more rows may have been read.
  absl::Duration fresh;
  if (!answer.etag.empty()) {
    const ApiMethod method = task.call.method;
    fresh = method == ApiMethod::kCurves       ? limits::kApiCurvesFresh
            : method == ApiMethod::kImportance ? limits::kApiImportanceFresh
                                               : limits::kApiFresh;
    fresh += limits::kApiFreshPerMib * (static_cast<double>(answer.body.size()) / (1 << 20));
  }
  cache_.Put(task.key, std::move(answer), clock_.Now().steady, fresh);
}

}  // namespace dt
