// log_table.cc: appends chunks and trims the middle of long logs.
#include "coordinator/store/log_table.h"

#include <sqlite3.h>

#include <algorithm>
#include <string_view>

#include "common/limits.h"
#include "common/status.h"

namespace dt {
namespace {

// Trials remembered at once; more are read from the table again, so that memory stays bounded.
constexpr size_t kTrialsRemembered = 16384;

}  // namespace

absl::StatusOr<std::unique_ptr<LogTable>> LogTable::Open(const Database& database) {
  auto table = std::unique_ptr<LogTable>(new LogTable(database));
  DT_ASSIGN_OR_RETURN(table->insert_,
                      Statement::Prepare(database,
                                         "INSERT INTO logs (experiment, trial, attempt, rank, "
                                         "wall_time_ms, dropped, text) VALUES (?,?,?,?,?,?,?)"));
  DT_ASSIGN_OR_RETURN(
      table->sizes_,
      Statement::Prepare(
          database,
          "SELECT id, length(text) FROM logs WHERE experiment = ? AND trial = ? ORDER BY id"));
  DT_ASSIGN_OR_RETURN(
      table->oldest_,
      Statement::Prepare(database,
                         "SELECT id, text, dropped FROM logs "
                         "WHERE experiment = ? AND trial = ? AND id > ? ORDER BY id LIMIT 1"));
  DT_ASSIGN_OR_RETURN(table->remove_,
                      Statement::Prepare(database, "DELETE FROM logs WHERE id = ?"));
  DT_ASSIGN_OR_RETURN(
      table->count_gap_,
      Statement::Prepare(database,
                         "UPDATE logs SET dropped = dropped + ?1 WHERE id = (SELECT id FROM logs "
                         "WHERE experiment = ?2 AND trial = ?3 AND id > ?4 ORDER BY id LIMIT 1)"));
  return table;
}

absl::StatusOr<LogTable::Kept*> LogTable::Find(TrialId trial) {
  if (auto found = kept_.find(trial); found != kept_.end()) return &found->second;
  if (kept_.size() >= kTrialsRemembered) kept_.clear();
  Kept kept;
  sizes_.Bind(1, static_cast<int64_t>(trial.experiment)).Bind(2, trial.trial);
  while (true) {
    auto row = sizes_.Step();
    if (!row.ok() || !*row) {
      sizes_.Reset();
      if (!row.ok()) return row.status();
      break;
    }
    const size_t bytes = static_cast<size_t>(sizes_.Integer(1));
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
  insert_.Bind(1, static_cast<int64_t>(trial.experiment)).Bind(2, trial.trial);
  insert_.Bind(3, log.attempt.attempt).Bind(4, log.rank).Bind(5, log.wall_time_ms);
  insert_.Bind(6, static_cast<int64_t>(log.dropped_lines)).BindBlob(7, log.text);
  DT_RETURN_IF_ERROR(insert_.Run());
  const size_t bytes = log.text.size();
  if (kept->tail_bytes == 0 && kept->head_bytes + bytes <= limits::kLogFirstBytes) {
    kept->head_bytes += bytes;
    kept->head_end = sqlite3_last_insert_rowid(database_.handle());
    return absl::OkStatus();
  }
  kept->tail_bytes += bytes;
  return kept->tail_bytes > limits::kLogNewestBytes ? Trim(trial, *kept) : absl::OkStatus();
}

absl::Status LogTable::Trim(TrialId trial, Kept& kept) {
  const int64_t experiment = static_cast<int64_t>(trial.experiment);
  int64_t lines = 0;
  while (kept.tail_bytes > limits::kLogNewestBytes) {
    oldest_.Bind(1, experiment).Bind(2, trial.trial).Bind(3, kept.head_end);
    DT_ASSIGN_OR_RETURN(const bool found, oldest_.Step());
    if (!found) {
      oldest_.Reset();
      break;
    }
    const int64_t id = oldest_.Integer(0);
    const std::string_view text = oldest_.Blob(1);
    lines += std::count(text.begin(), text.end(), '\n') + oldest_.Integer(2);
    kept.tail_bytes -= std::min(kept.tail_bytes, text.size());
    oldest_.Reset();
    DT_RETURN_IF_ERROR(remove_.Bind(1, id).Run());
  }
  return count_gap_.Bind(1, lines)
      .Bind(2, experiment)
      .Bind(3, trial.trial)
      .Bind(4, kept.head_end)
      .Run();
}

}  // namespace dt
