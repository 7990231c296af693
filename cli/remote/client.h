// client.h: blocking calls of the coordinator's Control service.
//
// Errors:  codes of the service, with the address in the message where nothing answered;
//          Cancelled after Ctrl-C. Every call has a deadline.
// Threads: one thread.
// Tests:   tests/cli/remote/client_test.cc; tests/cli/commands/command_test.cc, against
//          tests/testing/fake_control.h
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/remote/interrupt.h"
#include "common/ids.h"
#include "common/limits.h"
#include "common/net/credentials.h"
#include "dtrain/v1/access.grpc.pb.h"
#include "dtrain/v1/control.grpc.pb.h"
#include "dtrain/v1/fleet.grpc.pb.h"

namespace dt::cli {

namespace v1 = ::dtrain::v1;

struct ClientOptions {
  std::string address;  // or several, separated by commas, one of which leads
  TlsFiles tls;
  std::string token = {};    // sent with each call; "": none
  std::string context = {};  // the context that has the address, or ""
  absl::Duration deadline = limits::kCallDeadline;
};

enum class Protection { kNone, kTls };
// Returns what to do where no coordinator answers, depending on gRPC's message.
std::string UnreachableHint(std::string_view message, Protection protection);

class Client {
 public:
  // Borrows `interrupt`. Does not connect yet. Errors: InvalidArgument for flags that do not fit
  // together.
  static absl::StatusOr<std::unique_ptr<Client>> Make(const ClientOptions& options,
                                                      const Interrupt& interrupt);

  absl::StatusOr<v1::SubmitResponse> Submit(const v1::SubmitRequest& request);
  absl::StatusOr<v1::GetExperimentResponse> GetExperiment(const v1::GetExperimentRequest& request);
  absl::StatusOr<v1::ExplainTrialResponse> ExplainTrial(const v1::ExplainTrialRequest& request);
  absl::StatusOr<v1::ReadMetricsResponse> ReadMetrics(const v1::ReadMetricsRequest& request);
  absl::StatusOr<v1::ReadLogsResponse> ReadLogs(const v1::ReadLogsRequest& request);
  absl::StatusOr<v1::CancelResponse> Cancel(const v1::CancelRequest& request);
  absl::StatusOr<v1::RetryResponse> Retry(const v1::RetryRequest& request);
  absl::StatusOr<v1::ChangeResponse> Change(const v1::ChangeRequest& request);
  absl::StatusOr<v1::DeleteResponse> Delete(const v1::DeleteRequest& request);
  absl::StatusOr<v1::MarkWorkerResponse> MarkWorker(const v1::MarkWorkerRequest& request);
  absl::StatusOr<v1::SetQuotaResponse> SetQuota(const v1::SetQuotaRequest& request);
  absl::StatusOr<v1::ListQuotasResponse> ListQuotas();
  absl::StatusOr<v1::GetStatusResponse> GetStatus();
  absl::StatusOr<v1::PutCodeResponse> PutCode(const v1::PutCodeRequest& request);
  absl::StatusOr<v1::GetCodeResponse> GetCode(const v1::GetCodeRequest& request);
  // Makes the token and sends its hash. A repeated call, at this address or another, has the same
  // hash, so there is never a second token whose text nobody has.
  absl::StatusOr<v1::CreateTokenResponse> CreateToken(v1::CreateTokenRequest request);
  absl::StatusOr<v1::ListTokensResponse> ListTokens();
  absl::StatusOr<v1::RevokeTokenResponse> RevokeToken(const v1::RevokeTokenRequest& request);
  absl::StatusOr<v1::ListAuditResponse> ListAudit(const v1::ListAuditRequest& request);
  absl::StatusOr<v1::PlanResponse> Plan(const v1::PlanRequest& request);

  // Lists: fetch all pages.
  absl::StatusOr<std::vector<v1::ExperimentSummary>> ListExperiments(
      v1::ListExperimentsRequest request);
  absl::StatusOr<std::vector<v1::TrialSummary>> ListTrials(v1::ListTrialsRequest request);
  // Fetches a single page.
  absl::StatusOr<v1::ListTrialsResponse> ListTrialsPage(const v1::ListTrialsRequest& request);
  absl::StatusOr<std::vector<v1::WorkerSummary>> ListWorkers();
  absl::StatusOr<std::vector<v1::CheckpointSummary>> ListCheckpoints(
      v1::ListCheckpointsRequest request);
  // Passes every page of the rows to `take`, in order, until an error of it. REQUIRES:
  // !request.last(): all pages must be of the same experiment.
  absl::Status ReadAllMetrics(
      v1::ReadMetricsRequest request,
      const std::function<absl::Status(const v1::ReadMetricsResponse&)>& take);

  const std::string& address() const { return address_; }

 private:
  // Coordinator at one of the addresses.
  struct Peer {
    std::string address;
    std::unique_ptr<v1::Control::Stub> control;
    std::unique_ptr<v1::Fleet::Stub> fleet;  // serves code
    std::unique_ptr<v1::Access::Stub> access;
  };
  template <typename Response>
  using StartCall = std::function<void(const Peer& peer, grpc::ClientContext*, Response*,
                                       std::function<void(grpc::Status)>)>;

  Client(const ClientOptions& options, const Interrupt& interrupt, std::vector<Peer> peers);

  // Calls the coordinator that answered last. Goes on to the next one where none answers or the
  // coordinator is a standby. Repeats the round while one of them is a standby.
  template <typename Response>
  absl::StatusOr<Response> Call(const StartCall<Response>& start);
  // Starts a call on the async stub. Waits for its end, Ctrl-C or the deadline.
  template <typename Response>
  absl::StatusOr<grpc::Status> CallOnce(const StartCall<Response>& start, const Peer& peer,
                                        Response& response);
  absl::Status Explain(const grpc::Status& status, const std::string& address) const;

  const std::string address_;
  const std::string context_;
  const bool tls_;
  const std::string token_;
  const absl::Duration deadline_;
  const Interrupt& interrupt_;
  std::vector<Peer> peers_;
  size_t at_ = 0;  // index of the peer that answered last
};

// Returns a request with experiment, last and trial filled in, as far as it has these fields.
template <typename Request>
Request Select(const Selector& selector) {
  Request request;
  request.set_experiment(selector.experiment);
  request.set_last(selector.last);
  if constexpr (requires { request.set_trial(selector.trial); }) request.set_trial(selector.trial);
  return request;
}

}  // namespace dt::cli
