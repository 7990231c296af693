#include "cli/remote/client.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/address.h"
#include "common/check.h"
#include "common/lead_limits.h"
#include "common/limits.h"
#include "common/net/grpc_settings.h"
#include "common/net/standby.h"
#include "common/net/token.h"
#include "common/sha256.h"
#include "common/status.h"
#include "grpcpp/create_channel.h"

namespace dt::cli {
namespace {

// Notified once, from gRPC's thread, when a call is over.
class Done {
 public:
  Done() : fd_(eventfd(0, EFD_CLOEXEC)) { DT_CHECK(fd_ >= 0); }
  ~Done() { close(fd_); }
  Done(const Done&) = delete;
  Done& operator=(const Done&) = delete;

  void Notify() const {
    const uint64_t one = 1;
    DT_CHECK(write(fd_, &one, sizeof one) == sizeof one);
  }
  // Consumes the notification. Blocks; the call's deadline bounds the wait.
  void Take() const {
    uint64_t count = 0;
    while (read(fd_, &count, sizeof count) != sizeof count) {
    }
  }
  int fd() const { return fd_; }

 private:
  const int fd_;
};

// Returns "Connection refused" without the texts that gRPC wraps around it.
std::string LastCause(const std::string& message) {
  const size_t colon = message.rfind(": ");
  return colon == std::string::npos ? message : message.substr(colon + 2);
}

// Fixes "last" to the experiment of the first page, so that a newer experiment does not replace it.
template <typename Item, typename Request>
void SettleLast(const std::vector<Item>& first_page, Request& request) {
  if constexpr (requires {
                  request.set_last(false);
                  first_page.front().experiment();
                }) {
    if (!request.last() || first_page.empty()) return;
    request.set_last(false);
    request.set_experiment(first_page.front().experiment());
  }
}

// Gathers every page of a list. `call` makes one request; `take` moves the entries out.
template <typename Item, typename Request, typename Call, typename Take>
absl::StatusOr<std::vector<Item>> AllPages(Request request, const Call& call, const Take& take) {
  std::vector<Item> all;
  request.set_page_size(static_cast<int>(limits::kPageMax));
  while (true) {
    DT_ASSIGN_OR_RETURN(auto response, call(request));
    for (Item& item : *take(response)) all.push_back(std::move(item));
    if (response.next_page_token().empty()) return all;
    SettleLast(all, request);
    request.set_page_token(response.next_page_token());
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Client>> Client::Make(const ClientOptions& options,
                                                     const Interrupt& interrupt) {
  DT_ASSIGN_OR_RETURN(const std::vector<std::string> addresses,
                      SplitAddresses("--address", options.address));
  grpc::ChannelArguments arguments = ClientChannelArguments();
  // Ignores web proxies: the coordinator is on this host or in this cluster.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  std::vector<Peer> peers;
  for (const std::string& address : addresses) {
    DT_ASSIGN_OR_RETURN(auto credentials, MakeChannelCredentials(options.tls, address));
    auto channel = grpc::CreateCustomChannel(address, credentials, arguments);
    peers.push_back({address, v1::Control::NewStub(channel), v1::Fleet::NewStub(channel),
                     v1::Access::NewStub(channel)});
  }
  return std::unique_ptr<Client>(new Client(options, interrupt, std::move(peers)));
}

Client::Client(const ClientOptions& options, const Interrupt& interrupt, std::vector<Peer> peers)
    : address_(options.address),
      context_(options.context),
      tls_(!options.tls.None()),
      token_(options.token),
      deadline_(options.deadline),
      interrupt_(interrupt),
      peers_(std::move(peers)) {}

template <typename Response>
absl::StatusOr<grpc::Status> Client::CallOnce(const StartCall<Response>& start, const Peer& peer,
                                              Response& response) {
  if (interrupt_.Triggered()) return absl::CancelledError("interrupted");
  grpc::Status result;
  Done done;
  grpc::ClientContext context;
  const absl::Time deadline = absl::Now() + deadline_;
  context.set_deadline(absl::ToChronoTime(deadline));
  AddToken(token_, context);
  start(peer, &context, &response, [&](grpc::Status status) {
    result = std::move(status);
    done.Notify();
  });
  // gRPC ends the call at its deadline. One more second separates that from our own limit.
  const auto woken = interrupt_.Wait(deadline_ + absl::Seconds(1), done.fd());
  if (woken != Interrupt::Woken::kByDescriptor) context.TryCancel();
  done.Take();
  if (woken == Interrupt::Woken::kByInterrupt) return absl::CancelledError("interrupted");
  return result;
}

template <typename Response>
absl::StatusOr<Response> Client::Call(const StartCall<Response>& start) {
  const absl::Time patience = absl::Now() + std::min(limits::kTakeoverPatience, deadline_);
  bool standby = false;  // a coordinator stands by, so one will lead soon
  while (true) {
    absl::Status told;
    for (size_t tried = 0; tried < peers_.size(); ++tried) {
      const Peer& peer = peers_[at_];
      Response response;
      DT_ASSIGN_OR_RETURN(const grpc::Status result, CallOnce<Response>(start, peer, response));
      if (result.ok()) return response;
      const bool waits = absl::StartsWith(result.error_message(), kStandbySays);
      // A standby's answer says more than an address without an answer.
      if (told.ok() || waits) told = Explain(result, peer.address);
      if (result.error_code() != grpc::StatusCode::UNAVAILABLE) return told;
      standby = standby || waits;
      at_ = (at_ + 1) % peers_.size();
    }
    if (peers_.size() == 1 || !standby || absl::Now() >= patience) return told;
    if (interrupt_.Wait(limits::kTakeoverPoll) == Interrupt::Woken::kByInterrupt) {
      return absl::CancelledError("interrupted");
    }
  }
}

std::string UnreachableHint(std::string_view message, Protection protection) {
  const auto says = [&](std::string_view word) {
    return message.find(word) != std::string_view::npos;
  };
  if (says("Peer name")) {
    return "dial a name or address that the coordinator's certificate has; 'openssl x509 -noout "
           "-ext subjectAltName -in FILE' prints them";
  }
  if (says("andshake") || says("SSL")) {
    return "check --tls-ca, --tls-cert and --tls-key against the coordinator's";
  }
  if (says("HTTP/2")) {
    return "something else listens there; dtcoord's --listen address is wanted, not its --http";
  }
  // A listener that closes at once expects TLS, or another certificate.
  if (says("Socket closed") || says("Connection reset") ||
      LastCause(std::string(message)).empty()) {
    return protection == Protection::kTls
               ? "it closed the connection: check --tls-ca, --tls-cert and --tls-key against the "
                 "coordinator's, and that it has TLS at all"
               : "something there closed the connection: if the coordinator has TLS, give "
                 "--tls-ca, --tls-cert and --tls-key";
  }
  return "start one here with 'dtctl up', or name another with --address or --context";
}

absl::Status Client::Explain(const grpc::Status& status, const std::string& address) const {
  if (absl::StartsWith(status.error_message(), kStandbySays)) {
    return absl::UnavailableError(absl::StrCat("no coordinator of ", address_, " leads: at ",
                                               address, ", ", status.error_message(),
                                               "; name the leader's address with --address too"));
  }
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {
    const std::string cause = LastCause(status.error_message());
    const std::string hint =
        UnreachableHint(status.error_message(), tls_ ? Protection::kTls : Protection::kNone);
    return absl::UnavailableError(
        absl::StrCat("no coordinator answers at ", address_,
                     context_.empty() ? "" : ", context '" + context_ + "'",
                     cause.empty() ? "" : absl::StrCat(" (", cause, ")"), "; ", hint));
  }
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    return absl::DeadlineExceededError(absl::StrCat(
        "the coordinator at ", address, " did not answer within ", absl::FormatDuration(deadline_),
        "; it is overloaded or the network is: try again"));
  }
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
    return absl::UnimplementedError(
        absl::StrCat("the coordinator at ", address,
                     " does not know this call; compare the two versions with 'dtctl version'"));
  }
  return FromGrpcStatus(status);
}

// The calls, a line each: the method of the stub and the request.
#define DT_CALL(Method, request)                                                                 \
  Call<v1::Method##Response>([&](const Peer& peer, auto* context, auto* response, auto on_end) { \
    peer.control->async()->Method(context, &(request), response, std::move(on_end));             \
  })

absl::StatusOr<v1::SubmitResponse> Client::Submit(const v1::SubmitRequest& request) {
  return DT_CALL(Submit, request);
}
absl::StatusOr<v1::GetExperimentResponse> Client::GetExperiment(
    const v1::GetExperimentRequest& request) {
  return DT_CALL(GetExperiment, request);
}
absl::StatusOr<v1::ExplainTrialResponse> Client::ExplainTrial(
    const v1::ExplainTrialRequest& request) {
  return DT_CALL(ExplainTrial, request);
}
absl::StatusOr<v1::ReadMetricsResponse> Client::ReadMetrics(const v1::ReadMetricsRequest& request) {
  return DT_CALL(ReadMetrics, request);
}
absl::StatusOr<v1::ReadLogsResponse> Client::ReadLogs(const v1::ReadLogsRequest& request) {
  return DT_CALL(ReadLogs, request);
}
absl::StatusOr<v1::CancelResponse> Client::Cancel(const v1::CancelRequest& request) {
  return DT_CALL(Cancel, request);
}
absl::StatusOr<v1::RetryResponse> Client::Retry(const v1::RetryRequest& request) {
  return DT_CALL(Retry, request);
}
absl::StatusOr<v1::ChangeResponse> Client::Change(const v1::ChangeRequest& request) {
  return DT_CALL(Change, request);
}
absl::StatusOr<v1::DeleteResponse> Client::Delete(const v1::DeleteRequest& request) {
  return DT_CALL(Delete, request);
}
absl::StatusOr<v1::MarkWorkerResponse> Client::MarkWorker(const v1::MarkWorkerRequest& request) {
  return DT_CALL(MarkWorker, request);
}
absl::StatusOr<v1::SetQuotaResponse> Client::SetQuota(const v1::SetQuotaRequest& request) {
  return DT_CALL(SetQuota, request);
}
absl::StatusOr<v1::ListQuotasResponse> Client::ListQuotas() {
  const v1::ListQuotasRequest request;
  return DT_CALL(ListQuotas, request);
}
absl::StatusOr<v1::GetStatusResponse> Client::GetStatus() {
  const v1::GetStatusRequest request;
  return DT_CALL(GetStatus, request);
}

absl::StatusOr<v1::PlanResponse> Client::Plan(const v1::PlanRequest& request) {
  return DT_CALL(Plan, request);
}
absl::StatusOr<v1::PutCodeResponse> Client::PutCode(const v1::PutCodeRequest& request) {
  return DT_CALL(PutCode, request);
}
absl::StatusOr<v1::GetCodeResponse> Client::GetCode(const v1::GetCodeRequest& request) {
  return Call<v1::GetCodeResponse>(
      [&](const Peer& peer, auto* context, auto* response, auto on_end) {
        peer.fleet->async()->GetCode(context, &request, response, std::move(on_end));
      });
}

#define DT_ACCESS_CALL(Method, request)                                                          \
  Call<v1::Method##Response>([&](const Peer& peer, auto* context, auto* response, auto on_end) { \
    peer.access->async()->Method(context, &(request), response, std::move(on_end));              \
  })
absl::StatusOr<v1::CreateTokenResponse> Client::CreateToken(v1::CreateTokenRequest request) {
  const std::string token = FreshToken();
  request.set_hash(Sha256Hex(token));
  DT_ASSIGN_OR_RETURN(v1::CreateTokenResponse made, DT_ACCESS_CALL(CreateToken, request));
  // A coordinator of an earlier version makes the token itself.
  if (made.token().empty()) made.set_token(token);
  return made;
}
absl::StatusOr<v1::ListTokensResponse> Client::ListTokens() {
  const v1::ListTokensRequest request;
  return DT_ACCESS_CALL(ListTokens, request);
}
absl::StatusOr<v1::RevokeTokenResponse> Client::RevokeToken(const v1::RevokeTokenRequest& request) {
  return DT_ACCESS_CALL(RevokeToken, request);
}
absl::StatusOr<v1::ListAuditResponse> Client::ListAudit(const v1::ListAuditRequest& request) {
  return DT_ACCESS_CALL(ListAudit, request);
}
#undef DT_ACCESS_CALL

absl::StatusOr<std::vector<v1::ExperimentSummary>> Client::ListExperiments(
    v1::ListExperimentsRequest request) {
  return AllPages<v1::ExperimentSummary>(
      std::move(request), [&](const auto& page) { return DT_CALL(ListExperiments, page); },
      [](auto& response) { return response.mutable_experiments(); });
}
absl::StatusOr<std::vector<v1::TrialSummary>> Client::ListTrials(v1::ListTrialsRequest request) {
  return AllPages<v1::TrialSummary>(
      std::move(request), [&](const auto& page) { return DT_CALL(ListTrials, page); },
      [](auto& response) { return response.mutable_trials(); });
}
absl::StatusOr<v1::ListTrialsResponse> Client::ListTrialsPage(
    const v1::ListTrialsRequest& request) {
  return DT_CALL(ListTrials, request);
}
absl::StatusOr<std::vector<v1::WorkerSummary>> Client::ListWorkers() {
  return AllPages<v1::WorkerSummary>(
      v1::ListWorkersRequest(), [&](const auto& page) { return DT_CALL(ListWorkers, page); },
      [](auto& response) { return response.mutable_workers(); });
}
absl::StatusOr<std::vector<v1::CheckpointSummary>> Client::ListCheckpoints(
    v1::ListCheckpointsRequest request) {
  return AllPages<v1::CheckpointSummary>(
      std::move(request), [&](const auto& page) { return DT_CALL(ListCheckpoints, page); },
      [](auto& response) { return response.mutable_checkpoints(); });
}

absl::Status Client::ReadAllMetrics(
    v1::ReadMetricsRequest request,
    const std::function<absl::Status(const v1::ReadMetricsResponse&)>& take) {
  request.set_page_size(static_cast<int>(limits::kMetricRowsPageMax));
  while (true) {
    DT_ASSIGN_OR_RETURN(const v1::ReadMetricsResponse page, ReadMetrics(request));
    DT_RETURN_IF_ERROR(take(page));
    if (page.next_page_token().empty()) return absl::OkStatus();
    request.set_page_token(page.next_page_token());
  }
}

#undef DT_CALL

}  // namespace dt::cli
