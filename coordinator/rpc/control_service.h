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
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/mailbox.h"
#include "common/mutex.h"
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
  // Returns whether no other coordinator can lead. Otherwise calls wait for the core.
  std::function<bool()> leads = [] { return true; };
};

class ControlService final : public v1::Control::Service {
 public:
  ControlService(Mailbox<Event>& mailbox, ReaderThread& reader, CodeKeeper& code, RpcStats& stats,
                 Door* door, ProcessFacts facts);

  void Answer(Reply&& reply) { calls_.Answer(std::move(reply)); }
  // Sets the answer of GetStatus. Until it is set, the core answers each call. May be called from
  // any thread.
  void ShowStatus(std::shared_ptr<const v1::GetStatusResponse> status) {
    MutexLock lock(&mutex_);
    status_ = std::move(status);
  }
  // Ends all waiting calls at shutdown, when no answers come any more.
  void FailAll(const absl::Status& status) {
    pool_.Stop();
    calls_.FailAll(status);
  }
  // Posts the call. Runs `continuation` with the answer, or at once with the refusal. May be called
  // from any thread.
  void Ask(ClientCall call, Continuation continuation);
  // Reports the end of a submission. With OK, `answer` has its number, or the errors of its file.
  using Submitted = std::function<void(const absl::Status& end, const v1::SubmitResponse& answer)>;
  // Reads and checks the request on the pool, posts it, and runs `done` with its end. `deadline` is
  // the caller's. May be called from any thread.
  void SubmitFor(v1::SubmitRequest request, absl::Time deadline, const Submitted& done);
  // Sets the device of later submissions that name none. May be called from any thread.
  void SetAutoDevice(DeviceKind device) { auto_device_.store(device); }

 private:
  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;
  using Bytes = grpc::ByteBuffer;
  // A call as gRPC gives it. Takes bytes: a message that cannot be read is answered with the reason
  // (wire.h).
  struct Incoming {
    const google::protobuf::MethodDescriptor& method;
    Context* context;
    const Bytes* bytes;
    Bytes* response;
  };
  // Answers a call that does not go to the core as it is.
  using Handler = Reactor* (ControlService::*)(const Incoming&);
  // Returns nullptr if the core answers the call.
  static Handler FindHandler(std::string_view method);
  // Answers from the newest durable state, without waiting for the core or a commit.
  Reactor* StartGetStatus(const Incoming& incoming);
  Reactor* StartSubmit(const Incoming& incoming);
  Reactor* StartPlan(const Incoming& incoming);
  Reactor* StartPutCode(const Incoming& incoming);
  Reactor* StartReadMetrics(const Incoming& incoming);
  Reactor* StartReadLogs(const Incoming& incoming);
  // Hands the request to the core, and its answer to the caller.
  Reactor* Forward(const Incoming& incoming);
  // Does what the answer asks of the process: adds its facts, or forgets code.
  void FollowAnswer(const google::protobuf::Message& request, google::protobuf::Message& answer);
  template <typename Request, typename Response>
  Reactor* ReadThrough(const Incoming& incoming,
                       absl::StatusOr<Response> (StoreReader::*read)(const Request&));
  UnaryCall Begun(const Incoming& incoming) {
    return {stats_, door_, incoming.method.name(), incoming.context};
  }
  // A call in progress, and the place of its answer.
  struct Pending {
    UnaryCall call;
    Bytes* response;
  };
  // Runs `work` on the pool. Returns an error if too much waits there.
  absl::Status Prepare(size_t bytes, absl::Time deadline, WorkPool::Work&& work);
  // Both run on the pool.
  void PrepareSubmit(const Submitted& done, v1::SubmitRequest request, const MayGoOn& may_go_on);
  void PreparePlanOf(const Pending& pending, v1::SubmitRequest request, const MayGoOn& may_go_on);
  // Posts a prepared submission; `found` has the diagnostics of its file.
  void AskToSubmit(const Submitted& done, Submission submission, const std::string& digest,
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
  Mutex mutex_;
  std::shared_ptr<const v1::GetStatusResponse> status_ ABSL_GUARDED_BY(mutex_);
  WorkPool pool_;  // last: its work uses the others
};

}  // namespace dt
