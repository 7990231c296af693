// control_service.h: the Control service: turns calls into events, and answers into replies.
//
// Role:      converts, posts and waits; decides nothing. Reads of metrics and logs are resolved and
//            permitted by the core first, then done by the reader thread.
// Ownership: borrows everything it is given.
// Threads:   gRPC's threads call in; Answer comes from the core thread.
// Errors:    RESOURCE_EXHAUSTED when a queue is full: try again; INVALID_ARGUMENT without a
//            deadline of at most limits::kCallDeadlineMax.
// Tests:     tests/coordinator/rpc/rpc_test.cc
#pragma once

#include <cstdint>
#include <string>

#include "common/mailbox.h"
#include "coordinator/core/event.h"
#include "coordinator/loop/reader_thread.h"
#include "coordinator/rpc/pending_calls.h"
#include "coordinator/rpc/rpc_stats.h"
#include "dtrain/v1/control.grpc.pb.h"

namespace dt {

// What the process knows of itself and the core does not.
struct ProcessFacts {
  std::string state_dir;     // whose free space decides whether submissions are taken
  std::string http_address;  // where /metrics is
  int64_t started_wall_ms = 0;
};

class ControlService final : public v1::Control::CallbackService {
 public:
  ControlService(Mailbox<Event>& mailbox, ReaderThread& reader, RpcStats& stats, ProcessFacts facts)
      : mailbox_(mailbox), reader_(reader), stats_(stats), facts_(std::move(facts)) {}

  void Answer(Reply&& reply) { calls_.Answer(std::move(reply)); }
  void FailAll(const absl::Status& status) { calls_.FailAll(status); }

  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;
  Reactor* Submit(Context*, const v1::SubmitRequest*, v1::SubmitResponse*) override;
  Reactor* ListExperiments(Context*, const v1::ListExperimentsRequest*,
                           v1::ListExperimentsResponse*) override;
  Reactor* GetExperiment(Context*, const v1::GetExperimentRequest*,
                         v1::GetExperimentResponse*) override;
  Reactor* ListTrials(Context*, const v1::ListTrialsRequest*, v1::ListTrialsResponse*) override;
  Reactor* ListWorkers(Context*, const v1::ListWorkersRequest*, v1::ListWorkersResponse*) override;
  Reactor* ListCheckpoints(Context*, const v1::ListCheckpointsRequest*,
                           v1::ListCheckpointsResponse*) override;
  Reactor* ExplainTrial(Context*, const v1::ExplainTrialRequest*,
                        v1::ExplainTrialResponse*) override;
  Reactor* ReadMetrics(Context*, const v1::ReadMetricsRequest*, v1::ReadMetricsResponse*) override;
  Reactor* ReadLogs(Context*, const v1::ReadLogsRequest*, v1::ReadLogsResponse*) override;
  Reactor* Cancel(Context*, const v1::CancelRequest*, v1::CancelResponse*) override;
  Reactor* Retry(Context*, const v1::RetryRequest*, v1::RetryResponse*) override;
  Reactor* Delete(Context*, const v1::DeleteRequest*, v1::DeleteResponse*) override;
  Reactor* GetStatus(Context*, const v1::GetStatusRequest*, v1::GetStatusResponse*) override;

 private:
  class Call;
  template <typename Request, typename Response>
  Reactor* Forward(Method method, Context* context, const Request* request, Response* response);
  template <typename Request, typename Response, typename Read>
  Reactor* ReadThrough(Method method, Context* context, const Request* request, Response* response,
                       Read read);
  // Posts the call; `continuation` runs with the answer, or at once with the refusal.
  void Ask(ClientCall call, Continuation continuation);
  bool DiskLow() const;

  Mailbox<Event>& mailbox_;
  ReaderThread& reader_;
  RpcStats& stats_;
  const ProcessFacts facts_;
  PendingCalls calls_;
};

}  // namespace dt
