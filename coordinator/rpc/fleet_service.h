// fleet_service.h: the workers' streams: reports in, whole orders out.
//
// Role:      checks reports and posts them; reads a stream's next report only after the last was
//            accepted, so that HTTP/2 flow control pushes back; keeps the newest unsent Orders.
//            Gives packed code to workers, and to people who ask for what ran.
// Ownership: borrows the mailbox, and the door, which is nullptr without --auth=tokens. A session
//            is owned by the table until its stream is done.
// Threads:   gRPC's threads run the sessions; SendOrders, EndStream and ResumeReads come from the
//            committer's thread, ResumeReads from the core's too.
// Errors:    a report that fails its check ends its stream with INVALID_ARGUMENT, a name that the
//            peer's certificate or token is not for with PERMISSION_DENIED, one stream too many
//            with RESOURCE_EXHAUSTED, one on which nothing comes with DEADLINE_EXCEEDED.
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
#include "coordinator/core/effects.h"
#include "coordinator/door/door.h"
#include "coordinator/rpc/rpc_stats.h"
#include "dtrain/v1/fleet.grpc.pb.h"

namespace dt {

// The stream as bytes: a report that cannot be read ends it with what is wrong (wire.h).
class FleetService final : public v1::Fleet::WithRawCallbackMethod_Session<
                               v1::Fleet::WithRawCallbackMethod_GetCode<v1::Fleet::Service>> {
 public:
  FleetService(Mailbox<Event>& mailbox, CodeKeeper& code, RpcStats& stats, Door* door,
               size_t streams_max)
      : mailbox_(mailbox), code_(code), stats_(stats), door_(door), streams_max_(streams_max) {}
  ~FleetService() override;

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Session(
      grpc::CallbackServerContext* context) override;
  // Answered by the keeper's thread.
  grpc::ServerUnaryReactor* GetCode(grpc::CallbackServerContext* context,
                                    const grpc::ByteBuffer* request,
                                    grpc::ByteBuffer* response) override;

  void SendOrders(OrdersOut&& out);
  void EndStream(StreamEnd&& end);
  // Lets sessions whose events found no place try again, and ends waits that are over; the core
  // loop comes by at least once a second.
  void ResumeReads(size_t bytes);
  // Ends streams that were given until `now`, of the steady clock: for a first report, or to take
  // their last orders.
  void EndWaits(absl::Duration now);
  // Ends every stream, now and from now on; what could not be posted yet is dropped,
  // unacknowledged.
  void EndAll();

  size_t streams() const;
  uint64_t reports() const { return reports_.load(std::memory_order_relaxed); }
  uint64_t refused_reports() const { return refused_.load(std::memory_order_relaxed); }

 private:
  class Stream;
  // Shared between the table, which is the owner, and whoever is just calling in from the core
  // thread; the last one to let go deletes it, after gRPC is done with it.
  using StreamRef = std::shared_ptr<Stream>;

  StreamRef Find(StreamId id);
  // Takes the event, or keeps `stream` for the next ResumeReads and leaves the event alone.
  // Everything of a stream is posted as bulk, its closing too, so that nothing overtakes.
  [[nodiscard]] bool PostOrPark(Event& event, StreamRef stream);
  bool Admit(Event& event);
  void Remove(StreamId id);
  // Nobody in particular where there is no door.
  absl::StatusOr<std::optional<Caller>> AdmitTo(Method method,
                                                const grpc::CallbackServerContext& context);
  // Has EndWaits look at this stream then.
  void LookAgain(StreamId id, absl::Duration after);

  Mailbox<Event>& mailbox_;
  CodeKeeper& code_;
  RpcStats& stats_;
  Door* const door_;
  const size_t streams_max_;
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
