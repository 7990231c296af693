// event.h: everything that can happen to the coordinator, as values.
//
// Role: the only input of Step. RPC threads, the store and the timer make events; only the core
//       thread consumes them. An event brings its own random bits, as Step has none.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "coordinator/core/model/plan_ask.h"
#include "coordinator/core/model/submission.h"
#include "dtrain/v1/fleet.pb.h"
#include "dtrain/v1/record.pb.h"
#include "google/protobuf/message.h"

namespace dt {

namespace v1 = ::dtrain::v1;

using ReplyId = uint64_t;  // of a waiting caller; the RPC layer makes it, unique within the process
using StreamId = uint64_t;  // of a worker's stream; likewise

// Request of a call as its message. Copies share it.
class ControlRequest {
 public:
  template <typename Request>
  requires std::derived_from<Request, google::protobuf::Message> ControlRequest(
      Request request)  // NOLINT(google-explicit-constructor): a call holds any request
      : message_(std::make_shared<const Request>(std::move(request))) {}
  explicit ControlRequest(std::shared_ptr<const google::protobuf::Message> message)
      : message_(std::move(message)) {}

  const google::protobuf::Message& operator*() const { return *message_; }

 private:
  std::shared_ptr<const google::protobuf::Message> message_;  // never nullptr
};

// Unary call of the Control service. The answer is a Reply effect with the same id.
struct ClientCall {
  ReplyId reply = 0;
  std::variant<Submission, PlanAsk, ControlRequest> request;
  // The caller may only change this user's experiments, as it is no admin. "": any experiment.
  std::string only_of = {};
  bool disk_low = false;  // free space under limits::kFreeBytesToSubmit when the call arrived
};

// Returns the request if it is of this type; otherwise nullptr.
template <typename Request>
const Request* FindRequest(const ClientCall& call) {
  const auto* request = std::get_if<ControlRequest>(&call.request);
  return request == nullptr ? nullptr
                            : google::protobuf::DynamicCastToGenerated<Request>(&**request);
}

// Sums over the rows of one chunk. The RPC layer computes them while it checks the rows, so that
// the core thread never parses rows. The metrics count them once the chunk is durable.
struct RowTotals {
  v1::StepRow sum;     // fields that add up: tokens, steps, seconds, bytes, counts
  v1::StepRow newest;  // the last row
};

// Message from a worker. The first one of a stream carries hello.
struct ReportReceived {
  StreamId stream = 0;
  std::string peer;  // address, for messages to users
  v1::WorkerReport report;
  // Totals of each item with rows, in the order of the items; empty if nobody reads metrics.
  std::vector<RowTotals> row_totals;
};

// End of a worker's stream: evidence, if the worker does not come back within a second.
struct StreamClosed {
  StreamId stream = 0;
};

// Delivery of a notice, or its failure for good.
struct NoticeDone {
  uint64_t number = 0;
  v1::NoticeSettled::Outcome outcome = v1::NoticeSettled::OUTCOME_UNSPECIFIED;
};

// Time has passed: leases, backoffs and timeouts are checked.
struct Tick {};

struct Event {
  std::variant<ClientCall, ReportReceived, StreamClosed, NoticeDone, Tick> what;
  std::array<uint64_t, 2>
      entropy{};     // fresh random bits; attempt tokens and seeds derive from them
  size_t bytes = 0;  // size on the wire; the mailbox is also bounded in bytes
};

}  // namespace dt
