// fleet_service.h: the workers' streams: reports come in, complete orders go out.
//
// Role:      checks reports and posts them. Reads a stream's next report only after the last one
//            was accepted, so that HTTP/2 flow control pushes back. Keeps the newest unsent Orders.
//            Sends packed code to workers, and to people who ask which code ran.
// Ownership: borrows the mailbox, the watch over connections, and the door (nullptr without
//            --auth=tokens). The table owns a session until its stream is done.
// Threads:   gRPC's threads run the sessions. SendOrders, EndStream and ResumeReads come from the
//            committer's thread, ResumeReads from the core's too.
// Errors:    INVALID_ARGUMENT ends a stream whose report fails its check. PERMISSION_DENIED: the
//            peer's certificate or token is not for this worker's name. RESOURCE_EXHAUSTED: too
//            many streams. DEADLINE_EXCEEDED: no report arrived.
// Invariant: every stream that posted a report posts StreamClosed after it, once.
// Tests:     tests/coordinator/rpc/fleet_service_test.cc
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "common/mailbox.h"
#include "common/mutex.h"
#include "coordinator/code/code_keeper.h"
#include "coordinator/core/model/effects.h"
#include "coordinator/door/door.h"
#include "coordinator/rpc/connection_watch.h"
#include "coordinator/rpc/rpc_stats.h"
#include "dtrain/v1/fleet.grpc.pb.h"

namespace dt {

// Takes the stream as bytes: a report that cannot be read ends it with the reason (wire.h).
class FleetService final : public v1::Fleet::WithRawCallbackMethod_Session<
                               v1::Fleet::WithRawCallbackMethod_GetCode<v1::Fleet::Service>> {
 public:
  FleetService(Mailbox<Event>& mailbox, CodeKeeper& code, RpcStats& stats, Door* door,
               size_t streams_max, ConnectionWatch& watch)
      : mailbox_(mailbox),
        code_(code),
        stats_(stats),
        door_(door),
        streams_max_(streams_max),
        watch_(watch) {}
  ~FleetService() override;

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Session(
      grpc::CallbackServerContext* context) override;
  // The keeper's thread answers.
  grpc::ServerUnaryReactor* GetCode(grpc::CallbackServerContext* context,
                                    const grpc::ByteBuffer* request,
                                    grpc::ByteBuffer* response) override;

  void SendOrders(OrdersOut&& out);
  void EndStream(StreamEnd&& end);
  // Retries sessions whose events found no place, and ends waits that are over. The core loop calls
  // it at least once a second.
  void ResumeReads(size_t bytes);
  // Ends streams whose wait was over by `now`, on the steady clock: the wait for a first report, or
  // for the last orders to be written.
  void EndWaits(absl::Duration now);
  // Ends every stream, present and future. Drops unposted events; they are never acknowledged.
  void EndAll();

  size_t streams() const;
  uint64_t reports() const { return reports_.load(std::memory_order_relaxed); }
  uint64_t refused_reports() const { return refused_.load(std::memory_order_relaxed); }

 private:
  class Stream;
  // Shared by the table, which is the owner, and a caller from the core thread. The last reference
  // deletes the stream, after gRPC is done with it.
  using StreamRef = std::shared_ptr<Stream>;

  StreamRef Find(StreamId id);
  // Takes the event, or parks `stream` for the next ResumeReads and leaves the event alone. Posts
  // all events of a stream as bulk, its closing too, so that none overtakes another.
  [[nodiscard]] bool PostOrPark(Event& event, StreamRef stream);
  bool Admit(Event& event);
  void Remove(StreamId id);
  // Returns nullopt if there is no door.
  absl::StatusOr<std::optional<Caller>> AdmitTo(std::string_view method,
                                                const grpc::CallbackServerContext& context);
  // Makes EndWaits look at this stream after this time.
  void LookAgain(StreamId id, absl::Duration after);

  Mailbox<Event>& mailbox_;
  CodeKeeper& code_;
  RpcStats& stats_;
  Door* const door_;
  const size_t streams_max_;
  ConnectionWatch& watch_;
  std::atomic<StreamId> last_stream_{0};
  std::atomic<int64_t> waiting_bytes_{0};  // of reports in the mailbox
  std::atomic<uint64_t> reports_{0};
  std::atomic<uint64_t> refused_{0};
  std::atomic<bool> closing_{false};
  mutable Mutex mutex_;
  std::set<std::pair<absl::Duration, StreamId>> waits_ ABSL_GUARDED_BY(mutex_);  // steady time
  absl::flat_hash_map<StreamId, StreamRef> streams_ ABSL_GUARDED_BY(mutex_);
  std::vector<StreamRef> parked_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dt
