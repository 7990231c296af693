// control_service.h: the Control service: turns calls into events, and answers into replies.
//
// Role:      converts, posts and waits; decides nothing. Submissions and plans are prepared on
//            threads of their own, since the work grows with the client's message. The core
//            resolves and permits reads of metrics and logs; the reader thread does them. Packed
//            code goes to its own thread. A submission that names code is posted once that thread
//            has all of it.
// Ownership: borrows all its arguments. The door may be nullptr (unary_call.h).
// Threads:   gRPC's threads call; Answer comes from the committer.
// Errors:    RESOURCE_EXHAUSTED when a queue is full (the client tries again); INVALID_ARGUMENT
//            without a deadline of at most limits::kCallDeadlineMax.
// Tests:     tests/coordinator/rpc/rpc_test.cc
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "common/clock.h"
#include "common/mailbox.h"
#include "coordinator/access/receivers.h"
#include "coordinator/code/code_keeper.h"
#include "coordinator/core/model/event.h"
#include "coordinator/loop/reader_thread.h"
#include "coordinator/rpc/pending_calls.h"
#include "coordinator/rpc/rpc_stats.h"
#include "coordinator/rpc/unary_call.h"
#include "coordinator/rpc/work_pool.h"
#include "dtrain/v1/control.grpc.pb.h"

namespace dt {

// Facts about the process that the core does not have.
struct ProcessFacts {
  std::string state_dir;         // its free space decides whether submissions are accepted
  std::string http_address;      // address of /metrics
  absl::Duration started;        // by the steady clock of `clock`
  const Clock* clock = nullptr;  // borrowed
  Receivers receivers;           // the hosts that experiments may notify
};

// Takes every call as bytes: a message that cannot be read is answered with the reason (wire.h).
namespace internal {
template <typename Base>
using RawReads = v1::Control::WithRawCallbackMethod_ReadMetrics<
    v1::Control::WithRawCallbackMethod_ReadLogs<Base>>;
template <typename Base>
using RawActs = v1::Control::WithRawCallbackMethod_Submit<v1::Control::WithRawCallbackMethod_Cancel<
    v1::Control::WithRawCallbackMethod_Retry<v1::Control::WithRawCallbackMethod_Change<
        v1::Control::WithRawCallbackMethod_MarkWorker<v1::Control::WithRawCallbackMethod_Delete<
            v1::Control::WithRawCallbackMethod_Plan<v1::Control::WithRawCallbackMethod_SetQuota<
                v1::Control::WithRawCallbackMethod_PutCode<Base>>>>>>>>>;
template <typename Base>
using RawLists = v1::Control::WithRawCallbackMethod_ListExperiments<
    v1::Control::WithRawCallbackMethod_GetExperiment<v1::Control::WithRawCallbackMethod_ListTrials<
        v1::Control::WithRawCallbackMethod_ListWorkers<
            v1::Control::WithRawCallbackMethod_ListCheckpoints<
                v1::Control::WithRawCallbackMethod_ExplainTrial<
                    v1::Control::WithRawCallbackMethod_ListQuotas<
                        v1::Control::WithRawCallbackMethod_GetStatus<Base>>>>>>>>;
}  // namespace internal

class ControlService final
    : public internal::RawLists<internal::RawActs<internal::RawReads<v1::Control::Service>>> {
 public:
  ControlService(Mailbox<Event>& mailbox, ReaderThread& reader, CodeKeeper& code, RpcStats& stats,
                 Door* door, ProcessFacts facts)
      : mailbox_(mailbox),
        reader_(reader),
        code_(code),
        stats_(stats),
        door_(door),
        facts_(std::move(facts)) {}

  void Answer(Reply&& reply) { calls_.Answer(std::move(reply)); }
  // Ends all waiting calls at shutdown, when no answers come any more.
  void FailAll(const absl::Status& status) {
    pool_.Stop();
    calls_.FailAll(status);
  }
  // Posts the call. Runs `continuation` with the answer, or at once with the refusal. May be called
  // from any thread.
  void Ask(ClientCall call, Continuation continuation);
  // Sets the device of later submissions that name none. May be called from any thread.
  void SetAutoDevice(DeviceKind device) { auto_device_.store(device); }

  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;
  using Bytes = grpc::ByteBuffer;
  Reactor* Submit(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* ListExperiments(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* GetExperiment(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* ListTrials(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* ListWorkers(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* ListCheckpoints(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* ExplainTrial(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* ReadMetrics(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* ReadLogs(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* Cancel(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* Retry(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* Change(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* Delete(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* MarkWorker(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* SetQuota(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* ListQuotas(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* Plan(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* GetStatus(Context* context, const Bytes* request, Bytes* response) override;
  Reactor* PutCode(Context* context, const Bytes* request, Bytes* response) override;

 private:
  template <typename Request, typename Response>
  Reactor* Forward(Method method, Context* context, const Bytes* bytes, Bytes* response);
  template <typename Request, typename Response>
  Reactor* ReadThrough(Method method, Context* context, const Bytes* bytes, Bytes* response,
                       absl::StatusOr<Response> (StoreReader::*read)(const Request&));
  // A call in progress, and the place of its answer.
  struct Pending {
    UnaryCall call;
    Bytes* response;
  };
  // Runs `work` on the pool, or ends the call.
  void Prepare(const UnaryCall& call, size_t bytes, WorkPool::Work&& work);
  // Both run on the pool.
  void PrepareSubmit(const Pending& pending, v1::SubmitRequest request, const MayGoOn& may_go_on);
  void PreparePlanOf(const Pending& pending, v1::SubmitRequest request, const MayGoOn& may_go_on);
  // Posts a prepared submission; `found` has the diagnostics of its file.
  void AskToSubmit(const Pending& pending, Submission submission, const std::string& digest,
                   const v1::SubmitResponse& found);
  bool DiskLow() const;

  Mailbox<Event>& mailbox_;
  ReaderThread& reader_;
  CodeKeeper& code_;
  RpcStats& stats_;
  Door* const door_;
  const ProcessFacts facts_;
  PendingCalls calls_;
  std::atomic<DeviceKind> auto_device_{DeviceKind::kCpu};
  WorkPool pool_;  // last: its work uses the others
};

}  // namespace dt
