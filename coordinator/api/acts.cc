#include "coordinator/api/acts.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/json.h"
#include "common/api_limits.h"
#include "common/json_depth.h"
#include "common/status.h"
#include "common/text.h"

namespace dt {
namespace {

using api::Json;

// The fields of a body; each is read once, with its required type.
class Fields {
 public:
  explicit Fields(Json json) : json_(std::move(json)) {}

  bool Has(const char* name) const { return json_.contains(name); }

  absl::StatusOr<std::string> Text(const char* name, const std::string& otherwise) const {
    if (!Has(name)) return otherwise;
    if (json_[name].is_string()) return json_[name].get<std::string>();
    return Refused(name, "a text");
  }
  absl::StatusOr<bool> Flag(const char* name, bool otherwise) const {
    if (!Has(name)) return otherwise;
    if (json_[name].is_boolean()) return json_[name].get<bool>();
    return Refused(name, "true or false");
  }
  template <typename Number>
  absl::StatusOr<Number> Whole(const char* name) const {
    const Json& value = json_[name];
    const auto least = static_cast<int64_t>(std::numeric_limits<Number>::min());
    const auto most = static_cast<int64_t>(std::min<uint64_t>(std::numeric_limits<Number>::max(),
                                                              std::numeric_limits<int64_t>::max()));
    const bool whole =
        value.is_number_integer() && !(value.is_number_unsigned() &&
                                       value.get<uint64_t>() > std::numeric_limits<int64_t>::max());
    if (whole && value.get<int64_t>() >= least && value.get<int64_t>() <= most) {
      return static_cast<Number>(value.get<int64_t>());
    }
    return Refused(name, absl::StrCat("an integer from ", least, " to ", most));
  }
  // Reads {"team": "a", "old": null}: sets one label and removes one.
  absl::StatusOr<v1::ExperimentChanged::Labels> Labels(const char* name) const {
    v1::ExperimentChanged::Labels labels;
    if (!json_[name].is_object()) return Refused(name, kLabels);
    for (const auto& [key, value] : json_[name].items()) {
      if (value.is_null()) {
        labels.add_removed(key);
      } else if (value.is_string()) {
        labels.add_set()->set_key(key);
        labels.mutable_set()->rbegin()->set_value(value.get<std::string>());
      } else {
        return Refused(name, kLabels);
      }
    }
    return labels;
  }

 private:
  static constexpr char kLabels[] =
      "an object of texts, {\"team\": \"a\"}, where null removes a label";

  absl::Status Refused(const char* name, const std::string& what) const {
    const std::string sent = json_[name].dump(-1, ' ', true);
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is ", CleanText(sent, limits::kQuotedBytes), "; it is ", what));
  }

  const Json json_;
};

absl::StatusOr<Fields> ReadFields(const ApiRoute& route, const std::string& body) {
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
  return Fields(std::move(json));
}

template <typename Request>
Request Choose(const ApiCall& call, const std::string& who) {
  Request request;
  request.set_experiment(call.experiment);
  request.set_last(call.last);
  request.set_who(who);
  return request;
}

std::string SubjectOf(const ApiCall& call) {
  return call.last ? "the newest experiment" : absl::StrCat("experiment ", call.experiment);
}

// Reads the one field of a change.
absl::Status ReadChange(const ApiRoute& route, const Fields& fields, v1::ChangeRequest& change) {
  std::vector<std::string> given;
  for (const std::string name : route.options) {
    if (name != "who" && fields.Has(name.c_str())) given.push_back(name);
  }
  if (given.size() != 1) {
    std::vector<std::string> takes(route.options.begin(), route.options.end() - 1);
    return absl::InvalidArgumentError(
        absl::StrCat(given.empty() ? "the body has none of " : "the body has several of ",
                     absl::StrJoin(takes, ", "), "; give one change at a time"));
  }
  const char* name = given.front().c_str();
  const std::string& one = given.front();
  if (one == "max_concurrent" || one == "max_trials" || one == "max_gpus_total") {
    DT_ASSIGN_OR_RETURN(const uint32_t number, fields.Whole<uint32_t>(name));
    if (one == "max_concurrent") change.set_max_concurrent(number);
    if (one == "max_trials") change.set_max_trials(number);
    if (one == "max_gpus_total") change.set_max_gpus_total(number);
  } else if (one == "priority") {
    DT_ASSIGN_OR_RETURN(const int32_t priority, fields.Whole<int32_t>(name));
    change.set_priority(priority);
  } else if (one == "max_steps") {
    DT_ASSIGN_OR_RETURN(const int64_t steps, fields.Whole<int64_t>(name));
    change.set_max_steps(steps);
  } else if (one == "name" || one == "note") {
    DT_ASSIGN_OR_RETURN(std::string text, fields.Text(name, ""));
    one == "name" ? change.set_name(std::move(text)) : change.set_note(std::move(text));
  } else if (one == "labels") {
    DT_ASSIGN_OR_RETURN(*change.mutable_labels(), fields.Labels(name));
  } else {
    DT_ASSIGN_OR_RETURN(const bool archived, fields.Flag(name, false));
    change.set_archived(archived);
  }
  return absl::OkStatus();
}

absl::StatusOr<Act> ReadExperimentChange(const ApiCall& call, const Fields& fields,
                                         const std::string& who) {
  auto change = Choose<v1::ChangeRequest>(call, who);
  if (call.method == ApiMethod::kPause) {
    DT_ASSIGN_OR_RETURN(const bool let_run, fields.Flag("let_run", false));
    change.mutable_pause()->set_let_run(let_run);
  } else if (call.method == ApiMethod::kResume) {
    change.mutable_resume();
  } else {
    DT_RETURN_IF_ERROR(ReadChange(RouteOf(call.method), fields, change));
  }
  return Act{std::move(change), SubjectOf(call), "Changed"};
}

absl::StatusOr<Act> ReadRetry(const ApiCall& call, const Fields& fields, const std::string& who) {
  auto retry = Choose<v1::RetryRequest>(call, who);
  retry.set_trial(call.trial);
  const bool one = call.method == ApiMethod::kRetryTrial;
  DT_ASSIGN_OR_RETURN(const bool failed, fields.Flag("failed", one));
  DT_ASSIGN_OR_RETURN(const bool cancelled, fields.Flag("cancelled", one));
  retry.set_failed(failed);
  retry.set_cancelled(cancelled);
  return Act{std::move(retry), SubjectOf(call), "Retried"};
}

absl::StatusOr<Act> ReadMark(const Fields& fields, const std::string& who) {
  v1::MarkWorkerRequest mark;
  mark.set_who(who);
  DT_ASSIGN_OR_RETURN(const std::string worker, fields.Text("worker", ""));
  DT_ASSIGN_OR_RETURN(const std::string reason, fields.Text("reason", ""));
  DT_ASSIGN_OR_RETURN(const bool drain, fields.Flag("drain", true));
  mark.set_worker(worker);
  mark.set_reason(reason);
  mark.set_drain(drain);
  return Act{std::move(mark), absl::StrCat("worker ", worker), "Marked"};
}

absl::StatusOr<Act> ReadQuota(const Fields& fields, const std::string& who) {
  v1::SetQuotaRequest quota;
  quota.set_who(who);
  DT_ASSIGN_OR_RETURN(*quota.mutable_user(), fields.Text("user", ""));
  DT_ASSIGN_OR_RETURN(*quota.mutable_label(), fields.Text("label", ""));
  DT_ASSIGN_OR_RETURN(const bool removed, fields.Flag("removed", false));
  quota.set_removed(removed);
  if (removed == fields.Has("slots")) {
    return absl::InvalidArgumentError(
        removed
            ? "the body has removed and slots; give slots to set a quota, or removed to remove it"
            : "the body has no slots: the number of slots that may be held at the same time; "
              "with 0 no trial starts");
  }
  if (!removed) {
    DT_ASSIGN_OR_RETURN(const uint32_t slots, fields.Whole<uint32_t>("slots"));
    quota.set_slots(slots);
  }
  const std::string whose =
      quota.user().empty() ? "label " + quota.label() : "user " + quota.user();
  return Act{std::move(quota), "quota of " + whose, "Quota", [](const auto& answer) {
               return api::QuotaFields(static_cast<const v1::SetQuotaResponse&>(answer));
             }};
}

}  // namespace

std::string_view RpcOf(ApiMethod act) {
  if (act == ApiMethod::kCancel || act == ApiMethod::kCancelTrial) return "Cancel";
  if (act == ApiMethod::kRetry || act == ApiMethod::kRetryTrial) return "Retry";
  if (act == ApiMethod::kSetQuota) return "SetQuota";
  return act == ApiMethod::kMarkWorker ? "MarkWorker" : "Change";
}

absl::StatusOr<Act> ReadAct(const ApiCall& call, const std::string& body, const std::string& who) {
  DT_ASSIGN_OR_RETURN(const Fields fields, ReadFields(RouteOf(call.method), body));
  DT_ASSIGN_OR_RETURN(const std::string said, fields.Text("who", ""));
  const std::string& actor = who.empty() ? said : who;
  const std::string_view rpc = RpcOf(call.method);
  if (rpc == "Change") return ReadExperimentChange(call, fields, actor);
  if (rpc == "Retry") return ReadRetry(call, fields, actor);
  if (rpc == "MarkWorker") return ReadMark(fields, actor);
  if (rpc == "SetQuota") return ReadQuota(fields, actor);
  auto cancel = Choose<v1::CancelRequest>(call, actor);
  cancel.set_trial(call.trial);
  DT_ASSIGN_OR_RETURN(const std::string reason, fields.Text("reason", "cancelled over HTTP"));
  cancel.set_reason(reason);
  return Act{std::move(cancel), SubjectOf(call), "Cancelled"};
}

}  // namespace dt
