#include "coordinator/api/gate.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/api_limits.h"
#include "common/status.h"
#include "common/text.h"
#include "coordinator/api/quoted.h"

namespace dt {
namespace {

using api::Json;

constexpr char kJson[] = "application/json";

// Ignores Basic: a browser sends it by itself to any page that makes it ask.
Shown ShownByActor(const HttpRequest& request) {
  const bool bearer = absl::StartsWithIgnoreCase(request.authorization, "bearer ");
  return {bearer ? request.authorization : "", {}, request.peer};
}

bool IsJson(const std::string& content_type) {
  const std::string type = content_type.substr(0, content_type.find(';'));
  return absl::EqualsIgnoreCase(type, kJson);
}

const char* ReachWord(Reach reach) {
  switch (reach) {
    case Reach::kNone:
      return "none";
    case Reach::kOwn:
      return "own";
    case Reach::kAll:
      return "all";
  }
  return "none";
}

// Returns {"Cancel": "own", …}: the caller's reach for each act.
Json MayDo(const std::optional<Caller>& caller, const std::vector<std::string_view>& acts) {
  Json may = Json::object();
  for (const std::string_view act : acts) {
    const Right* right = FindRight(act);
    const Reach reach = caller ? ReachOf(*right, caller->role) : Reach::kAll;
    may[std::string(act)] = ReachWord(reach);
  }
  return may;
}

}  // namespace

absl::Status HttpGate::AdmitReader(const HttpRequest& request) const {
  if (door_ == nullptr || !rules_.readers_show_token) return absl::OkStatus();
  return door_->Admit("GET", {request.authorization, {}, request.peer}).status();
}

// Refuses a page from elsewhere, which can make this host's browser send requests in the user's
// name. It cannot send JSON without asking first (which gets 405), and it cannot hide its own
// origin.
absl::Status HttpGate::CheckOrigin(const HttpRequest& request) const {
  if (!request.forwarded.empty()) {
    return absl::PermissionDeniedError(
        "this request came through a proxy, which hides its sender; to act, show a token to a "
        "dtcoord --auth=tokens, or use dtctl on the coordinator's own host");
  }
  const bool same_site = request.fetch_site.empty() || request.fetch_site == "same-origin";
  const bool same_origin =
      request.origin.empty() ||
      absl::EqualsIgnoreCase(request.origin, absl::StrCat("http://", request.host));
  if (same_site && same_origin) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("this request comes from a page of ",
                   Quoted(same_origin ? request.fetch_site : request.origin), ", not of http://",
                   Printable(CleanText(request.host, limits::kQuotedBytes)),
                   "; without dtcoord --auth=tokens only the coordinator's own page may act"));
}

absl::StatusOr<std::optional<Caller>> HttpGate::AdmitActor(const HttpRequest& request,
                                                           std::string_view method) const {
  if (!IsJson(request.content_type)) {
    return absl::InvalidArgumentError(absl::StrCat("the body is of type ",
                                                   Quoted(request.content_type), "; send ", kJson,
                                                   " as Content-Type"));
  }
  if (door_ != nullptr) {
    DT_ASSIGN_OR_RETURN(Caller caller, door_->Admit(method, ShownByActor(request)));
    return caller;
  }
  if (!rules_.acts_closed.empty()) return absl::PermissionDeniedError(rules_.acts_closed);
  DT_RETURN_IF_ERROR(CheckOrigin(request));
  return std::nullopt;
}

void HttpGate::Record(const std::optional<Caller>& caller, std::string_view method,
                      std::string_view subject, const absl::Status& end,
                      const std::string& peer) const {
  if (caller) door_->Record(*caller, method, subject, end, peer);
}

api::Json HttpGate::Access(const HttpRequest& request,
                           const std::vector<std::string_view>& acts) const {
  Json fields = Json::object();
  const bool open = door_ == nullptr && rules_.acts_closed.empty();
  fields["actions"] = door_ != nullptr ? "token" : open ? "open" : "closed";
  fields["reason"] = open ? Json(nullptr) : Json(rules_.acts_closed);
  fields["name"] = nullptr;
  fields["role"] = nullptr;
  fields["may"] = Json::object();
  if (open) fields["may"] = MayDo(std::nullopt, acts);
  if (door_ == nullptr) return api::Document("Access", fields);
  fields["reason"] = "show a token: 'Authorization: Bearer TOKEN'";
  if (request.authorization.empty()) return api::Document("Access", fields);
  const absl::StatusOr<Caller> caller = door_->Admit("GET", ShownByActor(request));
  if (!caller.ok()) {
    fields["reason"] = std::string(caller.status().message());
    return api::Document("Access", fields);
  }
  fields["reason"] = nullptr;
  fields["name"] = caller->name;
  fields["role"] = std::string(RoleWord(caller->role));
  fields["may"] = MayDo(*caller, acts);
  return api::Document("Access", fields);
}

}  // namespace dt
