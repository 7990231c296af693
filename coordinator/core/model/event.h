// event.h: everything that can happen to the coordinator, as values.
//
// Role: the only input of Step. RPC threads, the store and the timer make events; the core thread
//       alone consumes them. An event brings its own random bits: Step has none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "coordinator/core/model/plan_ask.h"
#include "coordinator/core/model/submission.h"
#include "dtrain/v1/control.pb.h"
#include "dtrain/v1/fleet.pb.h"
#include "dtrain/v1/record.pb.h"

namespace dt {

namespace v1 = ::dtrain::v1;

using ReplyId =
    uint64_t;  // names a waiting caller; made by the RPC layer, unique within the process
using StreamId = uint64_t;  // names a worker's stream; likewise

// A unary call of the Control service. The answer is a Reply effect with the same id.
struct ClientCall {
  ReplyId reply = 0;
  std::variant<Submission, v1::ListExperimentsRequest, v1::GetExperimentRequest,
               v1::ListTrialsRequest, v1::ListWorkersRequest, v1::ListCheckpointsRequest,
               v1::ExplainTrialRequest, v1::CancelRequest, v1::RetryRequest, v1::ChangeRequest,
               v1::DeleteRequest, v1::MarkWorkerRequest, v1::SetQuotaRequest, v1::ListQuotasRequest,
               v1::GetStatusRequest, PlanAsk>
      request;
  // Whose experiments alone it may change: of a caller that is no admin. "": anybody's.
  std::string only_of = {};
  bool disk_low = false;  // free space under limits::kFreeBytesToSubmit when the call arrived
};

// What the rows of one chunk add up to. The RPC layer makes it while it checks the rows, so that
// the core thread never parses them; the metrics count it once the chunk is durable.
struct RowTotals {
  v1::StepRow sum;     // of the fields that add up: tokens, steps, seconds, bytes, counts
  v1::StepRow newest;  // the last row
};

// A message from a worker. The first of a stream carries hello.
struct ReportReceived {
  StreamId stream = 0;
  std::string peer;  // address, for messages to people
  v1::WorkerReport report;
  // One for each item with rows, in the order of the items; empty where nobody looks at metrics.
  std::vector<RowTotals> row_totals;
};

// A worker's stream ended: evidence, not a verdict; the lease decides.
struct StreamClosed {
  StreamId stream = 0;
};

// A receiver took a notice, or it was given up.
struct NoticeDone {
  uint64_t number = 0;
  v1::NoticeSettled::Outcome outcome = v1::NoticeSettled::OUTCOME_UNSPECIFIED;
};

// Time has passed; leases, backoffs and timeouts are looked at.
struct Tick {};

struct Event {
  std::variant<ClientCall, ReportReceived, StreamClosed, NoticeDone, Tick> what;
  std::array<uint64_t, 2>
      entropy{};     // fresh random bits; attempt tokens and seeds derive from them
  size_t bytes = 0;  // size on the wire: the mailbox is bounded in bytes too
};

}  // namespace dt
