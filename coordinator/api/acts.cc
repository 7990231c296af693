#include "coordinator/api/acts.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/json.h"
#include "common/api_limits.h"
#include "common/check.h"
#include "common/json_depth.h"
#include "common/status.h"
#include "common/text.h"
#include "coordinator/api/act_fields.h"
#include "coordinator/rpc/subject.h"
#include "google/protobuf/descriptor.h"

namespace dt {
namespace {

using api::Json;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Returns the message that has the field: the request, or the change that the request makes.
Message& HolderOf(const char* name, Message& request) {
  const google::protobuf::Descriptor& fields = *request.GetDescriptor();
  if (fields.FindFieldByName(name) != nullptr) return request;
  const google::protobuf::Reflection& reflection = *request.GetReflection();
  DT_CHECK(fields.real_oneof_decl_count() == 1);
  const FieldDescriptor* change = reflection.GetOneofFieldDescriptor(request, fields.oneof_decl(0));
  DT_CHECK(change != nullptr && change->message_type()->FindFieldByName(name) != nullptr);
  return *reflection.MutableMessage(&request, change);
}

absl::StatusOr<Json> ReadBody(const ApiRoute& route, const std::string& body) {
  if (NestsTooDeep(body)) {
    return absl::InvalidArgumentError(absl::StrCat("the body of ", route.path,
                                                   " is nested deeper than ", kJsonDepthMax,
                                                   " levels; no field takes more than one"));
  }
  Json json = body.empty() ? Json::object() : Json::parse(body, nullptr, false);
  if (!json.is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the body of ", route.path, " is not a JSON object, such as {}"));
  }
  for (const auto& [key, value] : json.items()) {
    if (std::find(route.options.begin(), route.options.end(), key) != route.options.end()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("there is no field '", Printable(CleanText(key, limits::kQuotedBytes)),
                     "' of ", route.path, "; it takes ", absl::StrJoin(route.options, ", ")));
  }
  return json;
}

// Sets the experiment and the trial, as far as the request has such fields. Refuses `last` where
// the request has no such field: another experiment may be the newest at the next call.
absl::Status FillFromPath(const ApiCall& call, Message& request) {
  const google::protobuf::Descriptor& fields = *request.GetDescriptor();
  const google::protobuf::Reflection& reflection = *request.GetReflection();
  if (const FieldDescriptor* experiment = fields.FindFieldByName("experiment")) {
    reflection.SetUInt64(&request, experiment, call.experiment);
    const FieldDescriptor* last = fields.FindFieldByName("last");
    if (last == nullptr && call.last) {
      return absl::InvalidArgumentError(
          absl::StrCat(call.route->path, " takes the number of an experiment, not last"));
    }
    if (last != nullptr) reflection.SetBool(&request, last, call.last);
  }
  if (const FieldDescriptor* trial = fields.FindFieldByName("trial")) {
    reflection.SetUInt32(&request, trial, call.trial);
  }
  return absl::OkStatus();
}

// Checks that the body has exactly one of the changes that the route takes, if it takes any.
absl::Status CheckOneChange(const ApiRoute& route, const Json& body) {
  std::vector<const char*> takes;
  int given = 0;
  for (const char* name : route.options) {
    const FieldDescriptor* field = route.act.request->GetDescriptor()->FindFieldByName(name);
    if (field == nullptr || field->real_containing_oneof() == nullptr) continue;
    takes.push_back(name);
    if (body.contains(name)) ++given;
  }
  if (takes.empty() || given == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(given == 0 ? "the body has none of " : "the body has several of ",
                   absl::StrJoin(takes, ", "), "; give one change at a time"));
}

// Fields of the oneof `change` that a body may set: all but pause and resume, which have paths of
// their own.
std::vector<const char*> ChangeOptions() {
  std::vector<const char*> options;
  const auto& change = *v1::ChangeRequest::descriptor()->FindOneofByName("change");
  for (int i = 0; i < change.field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *change.field(i);
    if (field.number() == v1::ChangeRequest::kPauseFieldNumber ||
        field.number() == v1::ChangeRequest::kResumeFieldNumber) {
      continue;
    }
    options.push_back(field.name().c_str());
  }
  options.push_back("who");
  return options;
}

absl::Status CheckQuota(const Json& body) {
  const bool removed = body.value("removed", false);
  if (removed != body.contains("slots")) return absl::OkStatus();
  return absl::InvalidArgumentError(
      removed ? "the body has removed and slots; give slots to set a quota, or removed to remove it"
              : "the body has no slots: the number of slots that may be held at the same time; "
                "with 0 no trial starts");
}

absl::Status CheckCopy(const Json& body) {
  if (body.contains("file_text") && body["file_text"] != "") return absl::OkStatus();
  return absl::InvalidArgumentError("the body has no file_text: the experiment file to submit");
}

// Makes the row of an act. `prepare` sets the values of fields that a body may leave out.
template <typename Request>
ApiRoute Post(const char* path, std::vector<const char*> options, const char* kind,
              void (*prepare)(Request& request)) {
  auto request = std::make_shared<Request>();
  prepare(*request);
  ApiRoute route{path, std::move(options)};
  route.http = HttpMethod::kPost;
  route.act.request = std::move(request);
  route.act.kind = kind;
  return route;
}

}  // namespace

std::vector<ApiRoute> ActRoutes() {
  const auto cancel = [](v1::CancelRequest& request) { request.set_reason("cancelled over HTTP"); };
  std::vector<ApiRoute> routes = {
      Post<v1::SubmitRequest>("/api/v1/experiments/{experiment}/copy",
                              {"file_text", "dry_run", "request_id", "who"}, "Submitted",
                              [](auto&) {}),
      Post<v1::ChangeRequest>("/api/v1/experiments/{experiment}/pause", {"let_run", "who"},
                              "Changed", [](auto& request) { request.mutable_pause(); }),
      Post<v1::ChangeRequest>("/api/v1/experiments/{experiment}/resume", {"who"}, "Changed",
                              [](auto& request) { request.mutable_resume(); }),
      Post<v1::ChangeRequest>("/api/v1/experiments/{experiment}/change", ChangeOptions(), "Changed",
                              [](auto&) {}),
      Post<v1::CancelRequest>("/api/v1/experiments/{experiment}/cancel", {"reason", "who"},
                              "Cancelled", cancel),
      Post<v1::CancelRequest>("/api/v1/experiments/{experiment}/trials/{trial}/cancel",
                              {"reason", "who"}, "Cancelled", cancel),
      Post<v1::RetryRequest>("/api/v1/experiments/{experiment}/retry",
                             {"failed", "cancelled", "who"}, "Retried", [](auto&) {}),
      Post<v1::RetryRequest>("/api/v1/experiments/{experiment}/trials/{trial}/retry", {"who"},
                             "Retried",
                             [](auto& request) {
                               request.set_failed(true);
                               request.set_cancelled(true);
                             }),
      Post<v1::AskTrialRequest>("/api/v1/experiments/{experiment}/ask",
                                {"asker", "host", "lease_seconds"}, "Asked", [](auto&) {}),
      Post<v1::ReportTrialRequest>("/api/v1/experiments/{experiment}/report",
                                   {"asker", "attempt_token", "step", "metrics"}, "Reported",
                                   [](auto&) {}),
      Post<v1::TellTrialRequest>("/api/v1/experiments/{experiment}/tell",
                                 {"asker", "attempt_token", "end", "metrics", "message"}, "Told",
                                 [](auto&) {}),
      Post<v1::MarkWorkerRequest>("/api/v1/workers/mark", {"worker", "drain", "reason", "who"},
                                  "Marked", [](auto& request) { request.set_drain(true); }),
      Post<v1::SetQuotaRequest>("/api/v1/quotas", {"user", "label", "slots", "removed", "who"},
                                "Quota", [](auto&) {}),
  };
  ApiAct& copy = routes.front().act;
  copy.check = CheckCopy;
  copy.fields = [](const auto& answer) {
    api::Json fields = api::ToJson(answer);
    fields.erase("expanded");  // the trials of a dry run
    return fields;
  };
  ApiAct& quota = routes.back().act;
  quota.check = CheckQuota;
  quota.fields = [](const auto& answer) {
    return api::QuotaFields(static_cast<const v1::SetQuotaResponse&>(answer));
  };
  return routes;
}

std::string_view RpcOf(const ApiRoute& act) {
  const std::string_view name = act.act.request->GetDescriptor()->name();
  return name.substr(0, name.size() - std::string_view("Request").size());
}

absl::StatusOr<Act> ReadAct(const ApiCall& call, const std::string& body, const std::string& who) {
  const ApiRoute& route = *call.route;
  DT_ASSIGN_OR_RETURN(const Json json, ReadBody(route, body));
  const std::shared_ptr<Message> request(route.act.request->New());
  request->CopyFrom(*route.act.request);
  DT_RETURN_IF_ERROR(FillFromPath(call, *request));
  DT_RETURN_IF_ERROR(CheckOneChange(route, json));
  for (const char* name : route.options) {
    if (json.contains(name)) DT_RETURN_IF_ERROR(ReadField(json, name, HolderOf(name, *request)));
  }
  if (!who.empty()) SetWho(*request, who);
  if (route.act.check != nullptr) DT_RETURN_IF_ERROR(route.act.check(json));
  std::string subject = SubjectOf(*request);
  return Act{ControlRequest(std::shared_ptr<const Message>(request)), std::move(subject)};
}

}  // namespace dt
