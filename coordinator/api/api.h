// api.h: answers a request to /api/v1 without blocking a thread. gate.h decides who may read; this
// file asks it who may act.
//
// Role:      asks the core with the events of dtctl's calls, and a reader for rows and lines. Turns
//            their answers into JSON on a thread of the page, so that the core, the committer and
//            scrapes never wait for a page.
// Ownership: borrows the threads, the clock and the gate, which must outlive it; it outlives its
//            own requests.
// Threads:   Answer runs on the HTTP server's thread; the rest on the committer's and on `work`.
// Errors:    answered as JSON; 429 when limits::kApiCalls are being answered or a queue is full.
// Tests:     tests/coordinator/api/api_test.cc
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/json.h"
#include "common/api_limits.h"
#include "common/clock.h"
#include "coordinator/api/acts.h"
#include "coordinator/api/answer_cache.h"
#include "coordinator/api/answers.h"
#include "coordinator/api/call.h"
#include "coordinator/api/curve_keeper.h"
#include "coordinator/api/gate.h"
#include "coordinator/api/report_job.h"
#include "coordinator/core/model/event.h"
#include "coordinator/http/http_server.h"
#include "coordinator/loop/reader_thread.h"
#include "coordinator/rpc/pending_calls.h"

namespace dt {

// Facts about the process that the core does not have.
struct ApiFacts {
  std::string http_address;
  std::function<NoticeFacts()> notices;  // called from any thread; must not wait
  absl::Duration started;                // start of the process, by the steady clock
};

// Returns the one table of the calls; docs/reference/api.md must match it.
const std::vector<ApiRoute>& ApiRoutes();
// `path` and `query` are as sent.
absl::StatusOr<ApiCall> ReadApiCall(std::string_view path, std::string_view query,
                                    HttpMethod http = HttpMethod::kGet);

// Submits an experiment whose file is text, and reports the end as ControlService::SubmitFor does.
using SubmitFile = std::function<void(
    v1::SubmitRequest request,
    std::function<void(const absl::Status& end, const v1::SubmitResponse& answer)> done)>;

class Api {
 public:
  // `work` makes most answers, `heavy` the slow ones.
  Api(AskCore ask, SubmitFile submit, ReaderThread& work, ReaderThread& heavy, const Clock& clock,
      const HttpGate& gate, ApiFacts facts)
      : ask_(std::move(ask)),
        submit_(std::move(submit)),
        work_(work),
        heavy_(heavy),
        clock_(clock),
        gate_(gate),
        facts_(std::move(facts)),
        cache_(limits::kApiCalls, limits::kApiKeptBytes) {}
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;

  void Answer(const HttpRequest& request, const HttpReply& reply);
  // Returns the rows of the questions.
  static std::vector<ApiRoute> Questions();

 private:
  using TaskPtr = std::shared_ptr<const ApiTask>;
  template <typename Response>
  using Then = std::function<void(std::shared_ptr<const Response>)>;

  void Do(const HttpRequest& request, const ApiCall& call, const HttpReply& reply);
  // Submits the file of `act` with the code of the experiment that `call` names.
  void Copy(const ApiCall& call, const Act& act, Continuation then);
  void StartStatus(const TaskPtr& task);
  void StartTrial(const TaskPtr& task);
  void StartLogs(const TaskPtr& task);
  void StartEvaluations(const TaskPtr& task);
  void StartCurves(const TaskPtr& task);
  void StartQueue(const TaskPtr& task);
  void StartNotices(const TaskPtr& task);
  void StartTrialFile(const TaskPtr& task);
  void StartReport(const TaskPtr& task) { StartReportJob(task, ReportJob::kReport); }
  void StartImportance(const TaskPtr& task) { StartReportJob(task, ReportJob::kImportance); }
  void StartReportJob(const TaskPtr& task, ReportJob job);
  // Asks the core. An error becomes the answer; otherwise `then` runs on the answering thread and
  // only hands over.
  template <typename Response, typename Request>
  void Ask(const TaskPtr& task, Request request, Then<Response> then);
  // Asks for all at the same time; `then` gets the answers in the order of the requests.
  void AskAll(const TaskPtr& task, const std::vector<v1::ListTrialsRequest>& requests,
              const std::function<void(std::vector<v1::ListTrialsResponse>)>& then);
  // Makes the handler of a call that is one question to the core. The answer becomes JSON.
  template <typename Request, typename Response>
  static ApiRoute::Answer Asks(api::Json (*to_json)(const Response&));
  // Finds the experiment that is meant, and checks that it and its trial exist.
  void Resolve(const TaskPtr& task, std::function<void(ExperimentId)> then);
  // Makes the answer on the page's thread.
  void Work(const TaskPtr& task, std::function<HttpAnswer(StoreReader&)> make);
  void Finish(const ApiTask& task, HttpAnswer answer);
  HttpAnswer ReadCurves(StoreReader& reader, const ApiTask& task, ExperimentId experiment,
                        const std::vector<v1::ListTrialsResponse>& trials);

  const AskCore ask_;
  const SubmitFile submit_;
  ReaderThread& work_;
  ReaderThread& heavy_;
  const Clock& clock_;
  const HttpGate& gate_;
  const ApiFacts facts_;
  AnswerCache cache_;
  std::atomic<size_t> report_jobs_{0};  // being gathered or made
  CurveKeeper curves_;                  // used by the page's thread alone
};

}  // namespace dt
