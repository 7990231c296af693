#include "coordinator/api/answers.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "api/pipeline_wait.h"
#include "api/spec_file.h"
#include "common/api_limits.h"
#include "common/sha256.h"
#include "common/status.h"
#include "spec/search.h"

namespace dt {
namespace {

using api::Json;

constexpr char kJsonType[] = "application/json; charset=utf-8";
constexpr size_t kTagDigits = 32;

template <typename Items, typename ToItem>
Json Page(const char* kind, const Items& items, const std::string& next, ToItem to_item) {
  std::vector<Json> list;
  for (const auto& item : items) list.push_back(to_item(item));
  Json json = api::List(kind, std::move(list));
  json["next_page_token"] = next.empty() ? Json(nullptr) : Json(next);
  return json;
}

// Returns a value with seven digits: more are invisible, and would double an answer's size.
Json Short(double value) {
  if (!std::isfinite(value)) return nullptr;
  char text[32];
  std::snprintf(text, sizeof(text), "%.7g", value);
  return std::strtod(text, nullptr);
}

int HttpCode(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kOk:
      return 200;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return 400;
    case absl::StatusCode::kUnauthenticated:
      return 401;
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAlreadyExists:
      return 409;
    case absl::StatusCode::kResourceExhausted:
      return 429;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kCancelled:
      return 503;
    default:  // Abseil's other codes: none is the caller's fault
      return 500;
  }
}

}  // namespace

HttpAnswer JsonAnswer(const Json& json) {
  HttpAnswer answer{200, api::JsonLine(json), kJsonType, ""};
  if (answer.body.size() > limits::kApiAnswerBytes) {
    return ErrorAnswer(absl::InvalidArgumentError(absl::StrCat(
        "the answer has ", answer.body.size(), " bytes; the limit is ", limits::kApiAnswerBytes,
        "; ask for less: a smaller page_size, or fewer trials, metrics or points")));
  }
  Sha256 sum;
  sum.Update(answer.body);
  answer.etag = absl::StrCat("\"", sum.FinishHex().substr(0, kTagDigits), "\"");
  return answer;
}

HttpAnswer ErrorAnswer(const absl::Status& status) {
  Json fields = Json::object();
  fields["code"] = absl::AsciiStrToLower(absl::StatusCodeToString(status.code()));
  fields["message"] = std::string(status.message());
  return {HttpCode(status.code()), api::JsonLine(api::Document("Error", std::move(fields))),
          kJsonType, ""};
}

Json StatusJson(const v1::GetStatusResponse& status) {
  return api::Document("Status", api::ToJson(status));
}

Json NoticesJson(const NoticeFacts& notices) {
  Json fields = Json::object();
  fields["waiting"] = notices.waiting;
  fields["delivered"] = notices.delivered;
  fields["failed"] = notices.failed;
  fields["dropped"] = notices.dropped;
  fields["failing"] = Json::array();
  for (const auto& [receiver, why] : notices.failing) {
    fields["failing"].push_back({{"receiver", receiver}, {"why", why}});
  }
  return api::Document("Notices", std::move(fields));
}

Json ExperimentsJson(const v1::ListExperimentsResponse& page) {
  return Page("ExperimentList", page.experiments(), page.next_page_token(), api::ExperimentJson);
}

Json ExperimentDocument(const v1::GetExperimentResponse& found) {
  Json fields = api::ExperimentFields(found);
  fields["rungs"] = spec::RungsOf(found.spec()).steps;
  return api::Document("Experiment", std::move(fields));
}

Json TrialsJson(const v1::ListTrialsResponse& page) {
  return Page("TrialList", page.trials(), page.next_page_token(), api::TrialJson);
}

Json CheckpointsJson(const v1::ListCheckpointsResponse& page) {
  return Page("CheckpointList", page.checkpoints(), page.next_page_token(), api::CheckpointJson);
}

Json WorkersJson(const v1::ListWorkersResponse& page) {
  return Page("WorkerList", page.workers(), page.next_page_token(), api::WorkerJson);
}

Json QuotasJson(const v1::ListQuotasResponse& all) {
  return Page("QuotaList", all.quotas(), "", api::QuotaJson);
}

Json TrialDocument(const v1::ExplainTrialResponse& found, const v1::ExperimentSpec& file,
                   const std::vector<report::HungRank>& hung) {
  Json fields = api::ExplanationFields(found);
  fields["hang"] = report::HangJson(report::HungAttempt(found), hung);
  const auto wait = api::PipelineWaitOf(found.trial(), file);
  fields["stage_wait_ratio"] = wait.has_value() ? api::NumberJson(wait->waited_ratio) : nullptr;
  fields["bubble_ratio"] = wait.has_value() ? api::NumberJson(wait->formula_ratio) : nullptr;
  return api::Document("Trial", std::move(fields));
}

absl::StatusOr<Json> TrialFileJson(const v1::GetExperimentResponse& found,
                                   const v1::TrialSummary& trial) {
  DT_ASSIGN_OR_RETURN(const std::string text, api::TrialFile(found, trial));
  Json fields = Json::object();
  fields["id"] = absl::StrCat(trial.experiment(), "/", trial.trial());
  fields["text"] = text;
  return api::Document("TrialFile", std::move(fields));
}

Json CurvesJson(ExperimentId experiment, const ApiCall& call,
                const std::vector<TrialCurves>& curves) {
  std::vector<Json> items;
  for (size_t i = 0; i < curves.size(); ++i) {
    Json item = Json::object();
    item["id"] = absl::StrCat(experiment, "/", call.trials[i]);
    item["trial"] = call.trials[i];
    item["rows"] = curves[i].rows;
    item["complete"] = curves[i].complete;
    Json metrics = Json::object();
    for (size_t m = 0; m < call.metrics.size(); ++m) {
      Json steps = Json::array();
      Json values = Json::array();
      for (const CurvePoint& point : curves[i].metrics[m]) {
        steps.push_back(point.step);
        values.push_back(Short(point.value));
      }
      metrics[call.metrics[m]] = {{"steps", std::move(steps)}, {"values", std::move(values)}};
    }
    item["metrics"] = std::move(metrics);
    items.push_back(std::move(item));
  }
  return api::List("CurveList", std::move(items));
}

Json LogsJson(const LogLines& logs) {
  std::vector<Json> items;
  for (const LogLine& line : logs.lines) {
    items.push_back({{"attempt", line.attempt},
                     {"rank", line.rank},
                     {"time", api::FormatIso(line.wall_time_ms)},
                     {"text", line.text},
                     {"dropped_lines", line.dropped_lines}});
  }
  Json json = api::List("LogLineList", std::move(items));
  json["left_out"] = logs.left_out;
  json["next_page_token"] = logs.next_page_token;
  return json;
}

Json EvaluationsJson(const std::vector<v1::EvaluationRow>& rows) {
  std::vector<Json> items;
  for (const v1::EvaluationRow& row : rows) {
    Json item = Json::object();
    item["attempt"] = row.attempt();
    item.update(api::ToJson(row.evaluation()));
    items.push_back(std::move(item));
  }
  return api::List("EvaluationList", std::move(items));
}

Json QueueJson(const std::vector<v1::ExperimentSummary>& experiments,
               const std::vector<v1::TrialSummary>& waiting) {
  std::map<uint64_t, const v1::ExperimentSummary*> by_number;
  for (const v1::ExperimentSummary& one : experiments) by_number[one.experiment()] = &one;
  std::vector<Json> items;
  for (const v1::TrialSummary& trial : waiting) {
    const auto of = by_number.find(trial.experiment());
    if (of == by_number.end()) continue;
    Json item = Json::object();
    item["id"] = absl::StrCat(trial.experiment(), "/", trial.trial());
    item["experiment"] = trial.experiment();
    item["trial"] = trial.trial();
    item["name"] = of->second->name();
    item["priority"] = of->second->priority();
    item["waiting"] = trial.waiting();
    item["attempts"] = trial.attempts();
    item["step"] = trial.step();
    items.push_back(std::move(item));
  }
  std::stable_sort(items.begin(), items.end(),
                   [](const Json& a, const Json& b) { return a["priority"] > b["priority"]; });
  uint64_t pending = 0;
  for (const v1::ExperimentSummary& one : experiments) pending += one.pending();
  Json json = api::List("Queue", std::move(items));
  json["pending"] = pending;  // of all experiments, including those that are left out here
  return json;
}

}  // namespace dt
