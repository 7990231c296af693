// log_table.cc: appends chunks and trims the middle of long logs.
#include "coordinator/store/log_table.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/status.h"
#include "coordinator/store/checksum.h"

namespace dt {
namespace {

int64_t LogChecksum(const AttemptId& attempt, int64_t rank, int64_t wall_time_ms, int64_t dropped,
                    std::string_view text) {
  Checksum checksum;
  checksum.Add(static_cast<int64_t>(attempt.trial.experiment)).Add(int64_t{attempt.trial.trial});
  checksum.Add(int64_t{attempt.attempt}).Add(rank).Add(wall_time_ms).Add(dropped);
  return checksum.Add(text).Sum();
}

// Returns the size of a chunk with this much text. Counts the row itself too: many tiny chunks also
// fill a disk.
size_t SizeOf(size_t text) { return text + limits::kLogRowBytes; }

}  // namespace

absl::StatusOr<std::unique_ptr<LogTable>> LogTable::Open(Connection& database, StoreHead& head) {
  auto table = std::unique_ptr<LogTable>(new LogTable(database, head));
  const std::string columns = kSideTables[kLogs].columns;
  const std::pair<Statement*, std::string> statements[] = {
      {&table->insert_,
       absl::StrCat("INSERT INTO logs (", columns, ", checksum) VALUES (?,?,?,?,?,?,?,?)")},
      {&table->sizes_,
       "SELECT id, length(text) FROM logs WHERE experiment = ? AND trial = ? ORDER BY id"},
      {&table->oldest_, absl::StrCat("SELECT ", columns,
                                     ", checksum, id FROM logs WHERE experiment = ? AND trial = ? "
                                     "AND id > ? ORDER BY id LIMIT 1")},
      {&table->remove_, "DELETE FROM logs WHERE id = ?"},
      {&table->update_, "UPDATE logs SET dropped = ?, checksum = ? WHERE id = ?"},
  };
  for (const auto& [statement, sql] : statements) {
    DT_ASSIGN_OR_RETURN(*statement, Statement::Prepare(database, sql));
  }
  return table;
}

absl::StatusOr<LogTable::Kept*> LogTable::Find(TrialId trial) {
  if (auto found = kept_.find(trial); found != kept_.end()) return &found->second;
  if (kept_.size() >= limits::kLogTrials) kept_.clear();
  Kept kept;
  sizes_.Bind(1, static_cast<int64_t>(trial.experiment)).Bind(2, trial.trial);
  while (true) {
    auto row = sizes_.Step();
    if (!row.ok() || !*row) {
      sizes_.Reset();
      if (!row.ok()) return row.status();
      break;
    }
    const size_t bytes = SizeOf(static_cast<size_t>(sizes_.Integer(1)));
    if (kept.tail_bytes == 0 && kept.head_bytes + bytes <= limits::kLogFirstBytes) {
      kept.head_bytes += bytes;
      kept.head_end = sizes_.Integer(0);
    } else {
      kept.tail_bytes += bytes;
    }
  }
  return &(kept_[trial] = kept);
}

absl::Status LogTable::Append(const LogToStore& log) {
  const TrialId trial = log.attempt.trial;
  DT_ASSIGN_OR_RETURN(Kept * kept, Find(trial));
  const auto experiment = static_cast<int64_t>(trial.experiment);
  const auto dropped = static_cast<int64_t>(log.dropped_lines);
  const int64_t checksum = LogChecksum(log.attempt, log.rank, log.wall_time_ms, dropped, log.text);
  insert_.Bind(1, experiment).Bind(2, trial.trial).Bind(3, log.attempt.attempt).Bind(4, log.rank);
  insert_.Bind(5, log.wall_time_ms).Bind(6, dropped).BindBlob(7, log.text).Bind(8, checksum);
  DT_RETURN_IF_ERROR(insert_.Run());
  head_.AddRow(kLogs, checksum);
  const size_t bytes = SizeOf(log.text.size());
  if (kept->tail_bytes == 0 && kept->head_bytes + bytes <= limits::kLogFirstBytes) {
    kept->head_bytes += bytes;
    DT_ASSIGN_OR_RETURN(kept->head_end, database_.LastRow());
    return absl::OkStatus();
  }
  kept->tail_bytes += bytes;
  return kept->tail_bytes > limits::kLogNewestBytes ? Trim(trial, *kept) : absl::OkStatus();
}

absl::Status LogTable::Trim(TrialId trial, Kept& kept) {
  int64_t lines = 0;
  while (kept.tail_bytes > limits::kLogNewestBytes) {
    oldest_.Bind(1, static_cast<int64_t>(trial.experiment)).Bind(2, trial.trial);
    DT_ASSIGN_OR_RETURN(const bool found, oldest_.Bind(3, kept.head_end).Step());
    if (!found) {
      oldest_.Reset();
      break;
    }
    const std::string_view text = oldest_.Blob(6);
    lines += std::count(text.begin(), text.end(), '\n') + oldest_.Integer(5);
    kept.tail_bytes -= std::min(kept.tail_bytes, SizeOf(text.size()));
    head_.DropRow(kLogs, oldest_.Integer(7));
    const int64_t id = oldest_.Integer(8);
    oldest_.Reset();
    DT_RETURN_IF_ERROR(remove_.Bind(1, id).Run());
  }
  return CountGap(trial, kept.head_end, lines);
}

// Counts removed lines on the last chunk before the gap, since a chunk's count is of lines after
// it. If the trial has no such chunk, uses the first one after the gap.
absl::Status LogTable::CountGap(TrialId trial, int64_t head_end, int64_t lines) {
  if (lines == 0) return absl::OkStatus();
  oldest_.Bind(1, static_cast<int64_t>(trial.experiment)).Bind(2, trial.trial);
  oldest_.Bind(3, head_end - 1);
  DT_ASSIGN_OR_RETURN(const bool found, oldest_.Step());
  if (!found) {
    oldest_.Reset();
    return absl::OkStatus();
  }
  const int64_t dropped = oldest_.Integer(5) + lines;
  const AttemptId attempt{trial, static_cast<uint32_t>(oldest_.Integer(2))};
  const int64_t checksum =
      LogChecksum(attempt, oldest_.Integer(3), oldest_.Integer(4), dropped, oldest_.Blob(6));
  head_.DropRow(kLogs, oldest_.Integer(7));
  head_.AddRow(kLogs, checksum);
  const int64_t id = oldest_.Integer(8);
  oldest_.Reset();
  return update_.Bind(1, dropped).Bind(2, checksum).Bind(3, id).Run();
}

}  // namespace dt
