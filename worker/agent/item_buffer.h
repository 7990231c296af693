// item_buffer.h: what a worker has to tell and the coordinator has not yet made durable.
//
// Role:      pure. Numbers items without holes; keeps each until it is acknowledged; a new
//            stream sends everything unacknowledged again.
// Bound:     limits::kWorkerBufferBytes. Over it, log text goes first (above its own share), then
//            every second step row, both counted; evaluations, checkpoints and ends never go.
// Invariant: sequences are consecutive: an item whose rows are all gone stays as their count.
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
                      size_t log_bytes_max = limits::kWorkerLogBufferBytes)
      : bytes_max_(bytes_max), log_bytes_max_(log_bytes_max) {}

  // Gives `item` the next sequence and keeps it.
  void Push(v1::Item item);
  // Items up to `sequence` are durable: they are handed out, in order, and dropped here. One beyond
  // the newest counts as the newest.
  std::vector<v1::Item> Acknowledge(uint64_t sequence);
  // A new stream: nothing has been sent on it.
  void Rewind();
  // Copies the next unsent items into `report`, within kReportItems and kReportItemsBytes (at least
  // one), and marks them sent.
  void TakeUnsent(v1::WorkerReport& report);
  // Another journal: all items are void. Numbering goes on, so that a journal that comes back never
  // takes a new item for one that it has.
  void Clear();

  bool Empty() const { return items_.empty(); }
  bool HasUnsent() const { return sent_ < items_.size(); }
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

  size_t bytes_max_;
  size_t log_bytes_max_;
  std::deque<Entry> items_;  // unacknowledged, by sequence
  size_t sent_ = 0;          // how many of items_, from the front, went out on this stream
  uint64_t last_sequence_ = 0;
  size_t bytes_ = 0;
  size_t row_bytes_ = 0;
  size_t log_bytes_ = 0;
};

}  // namespace dt
