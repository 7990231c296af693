#include "coordinator/rpc/access_service.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "coordinator/rpc/identity.h"
#include "coordinator/rpc/unary_call.h"

namespace dt {
namespace {

std::string SubjectOf(const v1::TokenSummary& token) {
  return absl::StrCat("token ", token.id(), ": ", token.role(), " '", token.name(), "'");
}
std::string SubjectOf(const v1::CreateTokenResponse& made) { return SubjectOf(made.summary()); }
std::string SubjectOf(const v1::JoinResponse& made) { return SubjectOf(made.summary()); }
std::string SubjectOf(const v1::RevokeTokenResponse& response) {
  std::string text;
  for (const v1::TokenSummary& token : response.revoked()) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", SubjectOf(token));
  }
  return text;
}
template <typename Response>
std::string SubjectOf(const Response&) {
  return "";
}

}  // namespace

template <typename Request, typename Act>
AccessService::Reactor* AccessService::Do(std::string_view method, Context* context,
                                          const Bytes* bytes, Bytes* response, Act act) {
  UnaryCall call(stats_, door_, method, context);
  Request request;
  absl::Status status = call.Begin(*bytes, request);
  if (status.ok() && door_ == nullptr) {
    status = absl::FailedPreconditionError(
        "this coordinator has no tokens: everyone who reaches it may do everything; start it with "
        "dtcoord --auth=tokens");
  }
  if (!status.ok()) {
    call.Finish(status);
    return call.reactor();
  }
  const bool taken = door_->Post([call, request = std::move(request), response, act] {
    const auto answer = act(request, *call.caller());
    if (!answer.ok()) return call.Finish(answer.status());
    *response = WriteMessage(*answer);
    call.Finish(absl::OkStatus(), SubjectOf(*answer));
  });
  if (!taken) {
    call.Finish(absl::ResourceExhaustedError(
        "the coordinator is busy: too many calls about tokens wait; try again in a second"));
  }
  return call.reactor();
}

AccessService::Reactor* AccessService::CreateToken(Context* context, const Bytes* request,
                                                   Bytes* response) {
  return Do<v1::CreateTokenRequest>(
      "CreateToken", context, request, response,
      [this](const auto& asked, const Caller& by) { return door_->Create(asked, by.name); });
}
AccessService::Reactor* AccessService::ListTokens(Context* context, const Bytes* request,
                                                  Bytes* response) {
  return Do<v1::ListTokensRequest>(
      "ListTokens", context, request, response,
      [this](const auto&, const Caller&) -> absl::StatusOr<v1::ListTokensResponse> {
        return door_->List();
      });
}
AccessService::Reactor* AccessService::RevokeToken(Context* context, const Bytes* request,
                                                   Bytes* response) {
  return Do<v1::RevokeTokenRequest>(
      "RevokeToken", context, request, response,
      [this](const auto& asked, const Caller&) { return door_->Revoke(asked); });
}
AccessService::Reactor* AccessService::ListAudit(Context* context, const Bytes* request,
                                                 Bytes* response) {
  return Do<v1::ListAuditRequest>(
      "ListAudit", context, request, response,
      [this](const auto& asked, const Caller&) { return door_->Audit(asked); });
}
AccessService::Reactor* AccessService::Join(Context* context, const Bytes* request,
                                            Bytes* response) {
  return Do<v1::JoinRequest>(
      "Join", context, request, response,
      [this](const auto& asked, const Caller& by) -> absl::StatusOr<v1::JoinResponse> {
        DT_RETURN_IF_ERROR(CheckTokenIsFor(asked.worker(), by));
        return door_->Join(asked, by);
      });
}

}  // namespace dt
