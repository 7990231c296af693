// item_buffer.h: what a worker has to tell and the coordinator has not yet made durable.
//
// Role:      pure. Numbers items without holes; keeps each until it is acknowledged; a new
//            stream sends everything unacknowledged again.
// Bound:     limits::kWorkerBufferBytes. Over it, log text goes first (above its own share), then
//            every second step row, both counted; evaluations, checkpoints and ends never go. An
//            item whose rows or text are all gone stays as their count. Counts of one attempt that
//            were never sent become one; at most kWorkerItemsSent others wait.
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
  // Items up to `sequence` are durable: they are handed out, in order, and dropped here. One beyond
  // the newest counts as the newest.
  std::vector<v1::Item> Acknowledge(uint64_t sequence);
  // A new stream: nothing has been sent on it.
  void Rewind();
  // Copies the next unsent items into `report`, within kReportItems and kReportItemsBytes (at least
  // one), and marks them sent. None while as many as may be are sent and not acknowledged.
  void TakeUnsent(v1::WorkerReport& report);
  // Another journal: all items are void. Numbering goes on, so that a journal that comes back never
  // takes a new item for one that it has.
  void Clear();

  bool Empty() const { return items_.empty(); }
  // Whether TakeUnsent would take some.
  bool HasUnsent() const { return sent_ < items_.size() && sent_ < sent_max_; }
  size_t Bytes() const { return bytes_; }
  // The number that the first item not yet acknowledged, sent or not, has or will have.
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
  // Drops every second row; returns how many, those of emptied items (which say so themselves) not
  // counted.
  uint64_t ThinRows();
  // Makes one of the counts of one attempt and kind that were never sent, and numbers anew what was
  // never sent.
  void JoinCounts();

  size_t bytes_max_;
  size_t log_bytes_max_;
  size_t sent_max_;
  std::deque<Entry> items_;  // unacknowledged, by sequence
  size_t sent_ = 0;          // how many of items_, from the front, went out on this stream
  uint64_t last_sequence_ = 0;
  uint64_t sent_sequence_ = 0;  // the highest that went out on any stream
  size_t bytes_ = 0;
  size_t row_bytes_ = 0;
  size_t log_bytes_ = 0;
};

}  // namespace dt
