// item_buffer.cc: keeps, resends and thins items.
#include "worker/agent/item_buffer.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/mutant.h"

namespace dt {
namespace {

// Memory of an entry besides its message: list node and message object.
constexpr size_t kEntryOverhead = 256;

}  // namespace

void ItemBuffer::Account(Entry& entry) {
  entry.bytes = entry.item.ByteSizeLong() + kEntryOverhead;
  bytes_ += entry.bytes;
  if (entry.item.has_rows()) row_bytes_ += entry.bytes;
  if (entry.item.has_log()) log_bytes_ += entry.bytes;
}

void ItemBuffer::Forget(const Entry& entry) {
  DT_CHECK(bytes_ >= entry.bytes);
  bytes_ -= entry.bytes;
  if (entry.item.has_rows()) row_bytes_ -= entry.bytes;
  if (entry.item.has_log()) log_bytes_ -= entry.bytes;
}

void ItemBuffer::Push(v1::Item item) {
  item.set_sequence(++last_sequence_);
  const std::string token = item.attempt_token();
  items_.push_back({std::move(item), 0});
  Account(items_.back());
  const bool drops_logs = log_bytes_ > log_bytes_max_;
  if (drops_logs) DropOldLogs();
  uint64_t dropped = 0;
  // If rows take less than a quarter of the bound, they are not what fills it; thinning them would
  // cost a pass over the buffer at each push and gain little.
  const bool thins_rows = bytes_ > bytes_max_ && row_bytes_ > bytes_max_ / 4;
  while (bytes_ > bytes_max_ && row_bytes_ > bytes_max_ / 4) dropped += ThinRows();
  if (dropped > 0) {
    v1::Item note;
    note.set_sequence(++last_sequence_);
    note.set_attempt_token(token);
    note.mutable_dropped()->set_count(dropped);
    items_.push_back({std::move(note), 0});
    Account(items_.back());
  }
  if (drops_logs || thins_rows) JoinCounts();
}

void ItemBuffer::DropOldLogs() {
  for (Entry& entry : items_) {
    if (log_bytes_ <= log_bytes_max_ / 2) break;
    if (!entry.item.has_log() || entry.item.log().text().empty()) continue;
    Forget(entry);
    v1::LogChunk& log = *entry.item.mutable_log();
    const auto lines = std::count(log.text().begin(), log.text().end(), '\n');
    log.set_dropped_lines(log.dropped_lines() + static_cast<uint64_t>(lines));
    log.clear_text();
    Account(entry);
  }
}

uint64_t ItemBuffer::ThinRows() {
  uint64_t dropped = 0;
  bool keep = true;  // alternates over all items, so that runs of one-row items are thinned too
  for (Entry& entry : items_) {
    if (!entry.item.has_rows()) continue;
    v1::StepRows rows;
    rows.ParseFromString(entry.item.rows().rows());
    v1::StepRows kept;
    for (v1::StepRow& row : *rows.mutable_rows()) {
      if (keep) kept.add_rows()->Swap(&row);
      keep = !keep;
    }
    const auto lost = static_cast<uint64_t>(rows.rows_size() - kept.rows_size());
    Forget(entry);
    if (kept.rows().empty()) {
      entry.item.mutable_dropped()->set_count(lost);
    } else {
      dropped += lost;
      v1::RowChunk& chunk = *entry.item.mutable_rows();
      chunk.set_first_step(kept.rows(0).step());
      chunk.set_last_step(kept.rows(kept.rows_size() - 1).step());
      chunk.set_count(static_cast<uint32_t>(kept.rows_size()));
      chunk.set_rows(kept.SerializeAsString());
    }
    Account(entry);
  }
  return dropped;
}

void ItemBuffer::JoinCounts() {
  Entry* rows = nullptr;  // the newest count of this kind
  Entry* logs = nullptr;
  const auto take_over = [this](Entry*& into, Entry& entry) {
    if (into == nullptr || into->item.attempt_token() != entry.item.attempt_token()) {
      into = &entry;
      return false;
    }
    Forget(*into);
    Forget(entry);
    v1::Item& item = into->item;
    if (item.has_log()) {
      item.mutable_log()->set_dropped_lines(item.log().dropped_lines() +
                                            entry.item.log().dropped_lines());
    } else {
      item.mutable_dropped()->set_count(item.dropped().count() + entry.item.dropped().count());
    }
    Account(*into);
    return true;
  };
  auto entry = std::find_if(items_.begin(), items_.end(), [this](const Entry& one) {
    return one.item.sequence() > sent_sequence_;
  });
  last_sequence_ -= static_cast<uint64_t>(items_.end() - entry);
  // Moved to the front one by one: a kept entry stays where `rows` and `logs` point.
  auto end = entry;
  for (; entry != items_.end(); ++entry) {
    if (end != entry) *end = std::move(*entry);
    const bool lines = end->item.has_log() && end->item.log().text().empty();
    if ((lines && take_over(logs, *end)) || (end->item.has_dropped() && take_over(rows, *end))) {
      continue;
    }
    end->item.set_sequence(++last_sequence_);
    ++end;
  }
  items_.erase(end, items_.end());
}

std::vector<v1::Item> ItemBuffer::Acknowledge(uint64_t sequence) {
  if (Mutated(Mutant::kDropsTheNextItem)) ++sequence;
  std::vector<v1::Item> durable;
  while (!items_.empty() && items_.front().item.sequence() <= sequence) {
    Forget(items_.front());
    durable.push_back(std::move(items_.front().item));
    items_.pop_front();
    if (sent_ > 0) --sent_;
  }
  DT_CHECK(!items_.empty() || (bytes_ == 0 && row_bytes_ == 0 && log_bytes_ == 0));
  return durable;
}

void ItemBuffer::Rewind() { sent_ = 0; }

void ItemBuffer::TakeUnsent(v1::WorkerReport& report) {
  size_t bytes = 0;
  size_t count = 0;
  while (HasUnsent() && count < limits::kReportItems) {
    const Entry& next = items_[sent_];
    if (count > 0 && bytes + next.bytes > limits::kReportItemsBytes) break;
    *report.add_items() = next.item;
    sent_sequence_ = std::max(sent_sequence_, next.item.sequence());
    bytes += next.bytes;
    ++count;
    ++sent_;
  }
}

void ItemBuffer::Clear() { Acknowledge(last_sequence_); }

}  // namespace dt
