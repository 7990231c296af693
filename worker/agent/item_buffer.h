// item_buffer.h: the items that a worker has to report and that the coordinator has not yet made
// durable.
//
// Role:      pure. Numbers items without gaps; keeps each until it is acknowledged; sends
//            everything unacknowledged again on a new stream.
// Bound:     limits::kWorkerBufferBytes. Above it, log text beyond its own share is dropped first,
//            then every second step row; both are counted. Evaluations, checkpoints and ends are
//            never dropped. An item that loses all its rows or text stays as their count. Counts of
//            one attempt that were never sent merge into one; at most kWorkerItemsSent others wait.
// Invariant: sequences are consecutive, and an item that was sent once keeps its own.
// Tests:     tests/worker/agent/item_buffer_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "common/limits.h"
#include "dtrain/v1/fleet.pb.h"

namespace dt {

namespace v1 = ::dtrain::v1;

class ItemBuffer {
 public:
  explicit ItemBuffer(size_t bytes_max = limits::kWorkerBufferBytes,
                      size_t log_bytes_max = limits::kWorkerLogBufferBytes,
                      size_t sent_max = limits::kWorkerItemsSent)
      : bytes_max_(bytes_max), log_bytes_max_(log_bytes_max), sent_max_(sent_max) {}

  // Gives `item` the next sequence and keeps it.
  void Push(v1::Item item);
  // Marks items up to `sequence` as durable: returns them, in order, and drops them here. A number
  // beyond the newest counts as the newest.
  std::vector<v1::Item> Acknowledge(uint64_t sequence);
  // Starts a new stream: nothing has been sent on it.
  void Rewind();
  // Copies the next unsent items into `report`, within kReportItems and kReportItemsBytes (at least
  // one), and marks them as sent. Copies none while as many as allowed are sent and not
  // acknowledged.
  void TakeUnsent(v1::WorkerReport& report);
  // Voids all items for another journal. Numbering goes on, so that a journal that comes back never
  // confuses a new item with an old one.
  void Clear();

  bool Empty() const { return items_.empty(); }
  // Returns whether TakeUnsent would take some.
  bool HasUnsent() const { return sent_ < items_.size() && sent_ < sent_max_; }
  size_t Bytes() const { return bytes_; }
  // Returns the number of the first unacknowledged item, sent or not, or of the next item.
  uint64_t FirstSequence() const {
    return items_.empty() ? last_sequence_ + 1 : items_.front().item.sequence();
  }

 private:
  struct Entry {
    v1::Item item;
    size_t bytes = 0;
  };
  void Account(Entry& entry);
  void Forget(const Entry& entry);
  void DropOldLogs();
  // Drops every second row; returns how many, except those of emptied items, which have their own
  // count.
  uint64_t ThinRows();
  // Merges the unsent counts of one attempt and kind, and renumbers the unsent items.
  void JoinCounts();

  size_t bytes_max_;
  size_t log_bytes_max_;
  size_t sent_max_;
  std::deque<Entry> items_;  // unacknowledged, by sequence
  size_t sent_ = 0;          // how many of items_, from the front, were sent on this stream
  uint64_t last_sequence_ = 0;
  uint64_t sent_sequence_ = 0;  // the highest that was sent on any stream
  size_t bytes_ = 0;
  size_t row_bytes_ = 0;
  size_t log_bytes_ = 0;
};

}  // namespace dt
