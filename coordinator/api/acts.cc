#include "coordinator/api/acts.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/json.h"
#include "common/api_limits.h"
#include "common/check.h"
#include "common/json_depth.h"
#include "common/status.h"
#include "common/text.h"
#include "coordinator/rpc/subject.h"
#include "google/protobuf/descriptor.h"

namespace dt {
namespace {

using api::Json;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

absl::Status Refused(const Json& body, const char* name, const std::string& what) {
  const std::string sent = body[name].dump(-1, ' ', true);
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is ", CleanText(sent, limits::kQuotedBytes), "; it is ", what));
}

// Returns "" if the body does not have the field.
absl::StatusOr<std::string> TextOf(const Json& body, const char* name) {
  if (!body.contains(name)) return "";
  if (body[name].is_string()) return body[name].get<std::string>();
  return Refused(body, name, "a text");
}

template <typename Number>
absl::StatusOr<Number> IntegerOf(const Json& body, const char* name) {
  const Json& value = body[name];
  const auto least = static_cast<int64_t>(std::numeric_limits<Number>::min());
  const auto most = static_cast<int64_t>(
      std::min<uint64_t>(std::numeric_limits<Number>::max(), std::numeric_limits<int64_t>::max()));
  const bool integer =
      value.is_number_integer() &&
      !(value.is_number_unsigned() && value.get<uint64_t>() > std::numeric_limits<int64_t>::max());
  if (integer && value.get<int64_t>() >= least && value.get<int64_t>() <= most) {
    return static_cast<Number>(value.get<int64_t>());
  }
  return Refused(body, name, absl::StrCat("an integer from ", least, " to ", most));
}

// Reads {"team": "a", "old": null}: sets one label and removes one.
absl::StatusOr<v1::ExperimentChanged::Labels> LabelsOf(const Json& body, const char* name) {
  static constexpr char kLabels[] =
      "an object of texts, {\"team\": \"a\"}, where null removes a label";
  v1::ExperimentChanged::Labels labels;
  if (!body[name].is_object()) return Refused(body, name, kLabels);
  for (const auto& [key, value] : body[name].items()) {
    if (value.is_null()) {
      labels.add_removed(key);
    } else if (value.is_string()) {
      labels.add_set()->set_key(key);
      labels.mutable_set()->rbegin()->set_value(value.get<std::string>());
    } else {
      return Refused(body, name, kLabels);
    }
  }
  return labels;
}

// Reads a field that the body has into the field of the same name, as its type asks.
absl::Status ReadField(const Json& body, const char* name, Message& into) {
  const FieldDescriptor* field = into.GetDescriptor()->FindFieldByName(name);
  const google::protobuf::Reflection& reflection = *into.GetReflection();
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    DT_ASSIGN_OR_RETURN(const std::string text, TextOf(body, name));
    reflection.SetString(&into, field, text);
  } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_BOOL) {
    if (!body[name].is_boolean()) return Refused(body, name, "true or false");
    reflection.SetBool(&into, field, body[name].get<bool>());
  } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_UINT32) {
    DT_ASSIGN_OR_RETURN(const uint32_t number, IntegerOf<uint32_t>(body, name));
    reflection.SetUInt32(&into, field, number);
  } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_INT32) {
    DT_ASSIGN_OR_RETURN(const int32_t number, IntegerOf<int32_t>(body, name));
    reflection.SetInt32(&into, field, number);
  } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_INT64) {
    DT_ASSIGN_OR_RETURN(const int64_t number, IntegerOf<int64_t>(body, name));
    reflection.SetInt64(&into, field, number);
  } else {
    DT_CHECK(field->message_type() == v1::ExperimentChanged::Labels::descriptor());
    DT_ASSIGN_OR_RETURN(const v1::ExperimentChanged::Labels labels, LabelsOf(body, name));
    reflection.MutableMessage(&into, field)->CopyFrom(labels);
  }
  return absl::OkStatus();
}

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

// Sets the experiment and the trial, as far as the request has such fields.
void FillFromPath(const ApiCall& call, Message& request) {
  const google::protobuf::Descriptor& fields = *request.GetDescriptor();
  const google::protobuf::Reflection& reflection = *request.GetReflection();
  if (const FieldDescriptor* experiment = fields.FindFieldByName("experiment")) {
    reflection.SetUInt64(&request, experiment, call.experiment);
    if (const FieldDescriptor* last = fields.FindFieldByName("last")) {
      reflection.SetBool(&request, last, call.last);
    }
  }
  if (const FieldDescriptor* trial = fields.FindFieldByName("trial")) {
    reflection.SetUInt32(&request, trial, call.trial);
  }
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
  FillFromPath(call, *request);
  DT_ASSIGN_OR_RETURN(const std::string given, TextOf(json, "who"));
  DT_RETURN_IF_ERROR(CheckOneChange(route, json));
  for (const char* name : route.options) {
    if (json.contains(name)) DT_RETURN_IF_ERROR(ReadField(json, name, HolderOf(name, *request)));
  }
  SetWho(*request, who.empty() ? given : who);
  if (route.act.check != nullptr) DT_RETURN_IF_ERROR(route.act.check(json));
  std::string subject = SubjectOf(*request);
  return Act{ControlRequest(std::shared_ptr<const Message>(request)), std::move(subject)};
}

}  // namespace dt
