// effects.h: everything that the core wants done, as values, in the order in which it must happen:
// 1. `records`, `chunks`, `logs`, `acks` and `deletions` are committed in one transaction;
// 2. after the commit `replies`, `orders` and `stream_ends` leave the process.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/ids.h"
#include "coordinator/core/model/event.h"
#include "dtrain/v1/record.pb.h"

namespace dt {

// Metric rows to store; `rows` is a serialized v1::StepRows, stored as received.
struct ChunkToStore {
  AttemptId attempt;
  uint64_t first_step = 0;
  uint64_t last_step = 0;
  uint32_t count = 0;
  std::string rows;
  RowTotals totals;  // from the event; zeros if it had none
};

struct LogToStore {
  AttemptId attempt;
  int32_t rank = 0;
  int64_t wall_time_ms = 0;
  std::string text;
  uint64_t dropped_lines = 0;
};

// Acknowledgement: this commit makes the items of this instance up to `sequence` durable.
struct AckToStore {
  std::string worker;
  InstanceId instance = 0;
  uint64_t sequence = 0;
};

struct Reply {
  ReplyId id = 0;
  absl::Status status;
  std::unique_ptr<google::protobuf::Message> response;  // null unless the status is OK
};

struct OrdersOut {
  StreamId stream = 0;
  v1::Orders orders;
};

// Order to close this stream with this status: a refused name, a superseded session.
struct StreamEnd {
  StreamId stream = 0;
  absl::Status status;
};

struct Effects {
  std::vector<v1::Record> records;
  std::vector<ChunkToStore> chunks;
  std::vector<LogToStore> logs;
  std::vector<AckToStore> acks;
  std::vector<ExperimentId> deletions;  // experiments whose side tables are cleared

  std::vector<Reply> replies;
  std::vector<OrdersOut> orders;
  std::vector<StreamEnd> stream_ends;
  std::vector<std::string> log_lines;  // for the operator; the loop prints them

  // Returns whether nothing needs a commit.
  bool NothingDurable() const {
    return records.empty() && chunks.empty() && logs.empty() && acks.empty() && deletions.empty();
  }
};

}  // namespace dt
