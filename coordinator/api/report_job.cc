#include "coordinator/api/report_job.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/api_limits.h"
#include "common/limits.h"
#include "common/mutex.h"
#include "common/status.h"
#include "coordinator/api/answers.h"
#include "report/analysis/parameter_importance.h"
#include "report/page/document.h"
#include "report/page/results_csv.h"
#include "report/page/sections.h"

namespace dt {
namespace {

using report::Experiment;
using report::Trial;

std::string Instead(ReportJob job, uint64_t experiment) {
  return job == ReportJob::kReport
             ? absl::StrCat("'dtctl report ", experiment, " -o report.html' has no limit")
             : absl::StrCat("'dtctl importance ", experiment, "' has no limit");
}

// A gathering in progress; it lives until its last answer.
class Gathering : public std::enable_shared_from_this<Gathering> {
 public:
  Gathering(AskCore ask, ApiCall call, ReportJob job, ExperimentThen then)
      : ask_(std::move(ask)), call_(std::move(call)), job_(job), then_(std::move(then)) {}

  void Start() {
    v1::GetExperimentRequest request;
    request.set_experiment(call_.experiment);
    request.set_last(call_.last);
    Ask<v1::GetExperimentResponse>(request, [](Gathering& self, v1::GetExperimentResponse& found) {
      self.experiment_->found.Swap(&found);
      const v1::ExperimentSummary& summary = self.experiment_->found.summary();
      const size_t most =
          self.job_ == ReportJob::kReport ? limits::kApiReportTrials : limits::kTrialsPerExperiment;
      if (summary.trials() > most) {
        return self.then_(absl::InvalidArgumentError(
            absl::StrCat("experiment ", summary.experiment(), " has ", summary.trials(),
                         " trials; the limit over HTTP is ", most, "; ",
                         Instead(self.job_, summary.experiment()))));
      }
      self.AskTrials("");
    });
  }

 private:
  template <typename Response, typename Request>
  void Ask(Request request, void (*take)(Gathering&, Response&)) {
    ClientCall call;
    call.request = std::move(request);
    ask_(std::move(call),
         [self = shared_from_this(), take](const absl::Status& status, auto message) {
           if (!status.ok()) return self->then_(status);
           take(*self, static_cast<Response&>(*message));
         });
  }

  void AskTrials(const std::string& token) {
    v1::ListTrialsRequest request;
    request.set_experiment(experiment_->found.summary().experiment());
    request.set_page_token(token);
    request.set_page_size(static_cast<int32_t>(limits::kPageMax));
    Ask<v1::ListTrialsResponse>(request, [](Gathering& self, v1::ListTrialsResponse& page) {
      for (v1::TrialSummary& one : *page.mutable_trials()) {
        self.experiment_->trials.emplace_back().summary.Swap(&one);
      }
      if (!page.next_page_token().empty()) return self.AskTrials(page.next_page_token());
      std::sort(
          self.experiment_->trials.begin(), self.experiment_->trials.end(),
          [](const Trial& a, const Trial& b) { return a.summary.trial() < b.summary.trial(); });
      self.AskAttempts(0);
    });
  }

  // Asks for the attempts of the trials from `first` on, at most limits::kApiReportAsks at a time.
  void AskAttempts(size_t first) {
    std::vector<Trial>& trials = experiment_->trials;
    if (job_ != ReportJob::kReport || first >= trials.size()) return then_(experiment_);
    const size_t end = std::min(trials.size(), first + limits::kApiReportAsks);
    {
      MutexLock lock(&mutex_);
      left_ = end - first;
    }
    for (size_t i = first; i < end; ++i) {
      v1::ExplainTrialRequest request;
      request.set_experiment(trials[i].summary.experiment());
      request.set_trial(trials[i].summary.trial());
      ClientCall call;
      call.request = request;
      ask_(std::move(call), [self = shared_from_this(), i, end](const absl::Status& status,
                                                                auto message) {
        self->TakeAttempts(i, status, static_cast<v1::ExplainTrialResponse*>(message.get()), end);
      });
    }
  }
  void TakeAttempts(size_t i, const absl::Status& status, v1::ExplainTrialResponse* explained,
                    size_t end) {
    absl::Status failed;
    {
      MutexLock lock(&mutex_);
      if (status.ok()) {
        Trial& trial = experiment_->trials[i];
        trial.attempts.assign(explained->attempts().begin(), explained->attempts().end());
        trial.takeovers.assign(explained->takeovers().begin(), explained->takeovers().end());
      } else {
        failed_.Update(status);
      }
      if (--left_ > 0) return;
      failed = failed_;
    }
    failed.ok() ? AskAttempts(end) : then_(failed);
  }

  const AskCore ask_;
  const ApiCall call_;
  const ReportJob job_;
  const ExperimentThen then_;
  const ExperimentPtr experiment_ = std::make_shared<Experiment>();
  Mutex mutex_;
  size_t left_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status failed_ ABSL_GUARDED_BY(mutex_);
};

// All rows, or only the evaluations, which come before them.
enum class RowSelection { kAll, kEvaluations };
absl::Status ReadRows(StoreReader& reader, ReportJob job, RowSelection rows,
                      Experiment& experiment) {
  const uint64_t id = experiment.found.summary().experiment();
  report::Collector collector(experiment);
  v1::ReadMetricsRequest request;
  request.set_experiment(id);
  request.set_page_size(static_cast<int>(limits::kMetricRowsPageMax));
  size_t read = 0;
  while (true) {
    DT_ASSIGN_OR_RETURN(v1::ReadMetricsResponse page, reader.ReadMetrics(request));
    read += static_cast<size_t>(page.rows_size() + page.evaluations_size());
    if (read > limits::kApiReportRows) {
      return absl::InvalidArgumentError(
          absl::StrCat("experiment ", id, " has more than ", limits::kApiReportRows,
                       " rows, the limit over HTTP; ", Instead(job, id)));
    }
    const bool last = page.next_page_token().empty() ||
                      (rows == RowSelection::kEvaluations && page.rows_size() > 0);
    if (rows == RowSelection::kEvaluations) page.clear_rows();
    collector.Add(page);
    if (last) break;
    request.set_page_token(page.next_page_token());
  }
  collector.Finish();
  return absl::OkStatus();
}

// Returns an answer even if the rows allow no conclusion; its note says why.
HttpAnswer AnswerImportance(const Experiment& experiment) {
  const auto found = report::AnalyseImportance(experiment);
  if (!found.ok() && !absl::IsFailedPrecondition(found.status())) {
    return ErrorAnswer(found.status());
  }
  api::Json list = api::List(
      "ImportanceList", found.ok() ? report::ImportanceItems(*found) : std::vector<api::Json>());
  list["experiment"] = experiment.found.summary().experiment();
  list["metric"] = experiment.found.summary().metric();
  list["note"] = found.ok() ? report::ReachText(*found) : std::string(found.status().message());
  return JsonAnswer(list);
}

HttpAnswer AnswerReport(const ApiCall& call, const Experiment& experiment) {
  HttpAnswer answer;
  if (call.format == "csv") {
    answer.body = report::ResultsCsv({experiment});
    answer.type = "text/csv; charset=utf-8";
  } else if (call.format == "md") {
    answer.body = report::MarkdownPage(report::ExperimentReport(experiment));
    answer.type = "text/markdown; charset=utf-8";
  } else {
    answer.body = report::HtmlPage(report::ExperimentReport(experiment));
    answer.type = "text/html; charset=utf-8";
  }
  const uint64_t id = experiment.found.summary().experiment();
  if (answer.body.size() > limits::kApiAnswerBytes) {
    return ErrorAnswer(absl::InvalidArgumentError(
        absl::StrCat("the report has ", answer.body.size(), " bytes; the limit over HTTP is ",
                     limits::kApiAnswerBytes, "; ", Instead(ReportJob::kReport, id))));
  }
  answer.file_name = absl::StrCat("experiment-", id, ".", call.format);
  return answer;
}

}  // namespace

void GatherExperiment(const AskCore& ask, const ApiCall& call, ReportJob job, ExperimentThen then) {
  std::make_shared<Gathering>(ask, call, job, std::move(then))->Start();
}

HttpAnswer AnswerReportJob(StoreReader& reader, const ApiCall& call, ReportJob job,
                           Experiment& experiment) {
  const bool report = job == ReportJob::kReport;
  // Values at rungs are only in evaluations; other results are in the trials themselves.
  if (report || experiment.found.spec().search().method() == "asha") {
    const RowSelection rows = report ? RowSelection::kAll : RowSelection::kEvaluations;
    if (absl::Status read = ReadRows(reader, job, rows, experiment); !read.ok()) {
      return ErrorAnswer(read);
    }
  }
  return report ? AnswerReport(call, experiment) : AnswerImportance(experiment);
}

}  // namespace dt
