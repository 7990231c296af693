// sql_reader.cc: reads pages of metric rows, evaluations and log chunks.
#include "coordinator/store/sql_reader.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/status.h"
#include "coordinator/core/model/durable.h"
#include "coordinator/store/schema.h"
#include "coordinator/store/sqlite.h"

namespace dt {
namespace {

constexpr uint64_t kAllSteps = std::numeric_limits<int64_t>::max();

// The place where a read of metrics continues: after this evaluation, or after this row.
struct Position {
  enum class Part { kEvaluations, kRows } part = Part::kEvaluations;
  int64_t evaluation = 0;
  uint32_t trial = 0;
  uint64_t step = 0;
  uint32_t attempt = 0;
};

std::string ToToken(const Position& position) {
  if (position.part == Position::Part::kEvaluations) return absl::StrCat("e", position.evaluation);
  return absl::StrCat("r", position.trial, ".", position.step, ".", position.attempt);
}

absl::StatusOr<Position> ParseToken(const std::string& token) {
  Position position;
  if (token.empty()) return position;
  unsigned long long first = 0, second = 0, third = 0;
  int used = 0;
  if (std::sscanf(token.c_str(), "e%llu%n", &first, &used) == 1 &&
      used == static_cast<int>(token.size()) && first <= kAllSteps) {
    position.evaluation = static_cast<int64_t>(first);
    return position;
  }
  if (std::sscanf(token.c_str(), "r%llu.%llu.%llu%n", &first, &second, &third, &used) == 3 &&
      used == static_cast<int>(token.size()) && first <= limits::kTrialsPerExperiment &&
      second <= kAllSteps && third <= limits::kAttemptsPerTrial) {
    position.part = Position::Part::kRows;
    position.trial = static_cast<uint32_t>(first);
    position.step = second;
    position.attempt = static_cast<uint32_t>(third);
    return position;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "page_token '", token, "' is not from this method; start again without a token"));
}

int64_t PageSize(int32_t asked, int64_t by_default, size_t most) {
  if (asked <= 0) return by_default;
  return std::min<int64_t>(asked, static_cast<int64_t>(most));
}

// Selects a table's columns in the order of kSideTables, then the checksum, then the ordering
// column.
std::string Select(Side side, const char* which) {
  const SideTable& table = kSideTables[side];
  return absl::StrCat("SELECT ", table.columns, ", checksum, ", table.order, " FROM ", table.name,
                      " ", which);
}

// Returns DataLoss if a row's checksum does not match.
absl::Status CheckRow(const Statement& row, Side side) {
  const SideTable& table = kSideTables[side];
  if (row.ChecksumOf(0, table.count) == row.Integer(table.count)) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("a row of '", table.name, "' of trial ", row.Integer(0), "/", row.Integer(1),
                   " is damaged on the coordinator's disk; `dtcoord check` finds other damage"));
}

// The facts about an attempt that decide which rows of other attempts count; indexed by number,
// from 1.
struct KnownRun {
  bool ran = false;
  uint64_t resumed_step = 0;
};
using Runs = std::vector<KnownRun>;

// Resets a statement on every exit, so that no read transaction outlives the call.
class Using {
 public:
  explicit Using(Statement& statement) : statement_(statement) {}
  ~Using() { statement_.Reset(); }
  Using(const Using&) = delete;
  Using& operator=(const Using&) = delete;

 private:
  Statement& statement_;
};

absl::StatusOr<Runs> ReadRuns(Statement& query, uint64_t experiment, uint32_t trial) {
  Runs runs;
  Using guard(query);
  query.Bind(1, static_cast<int64_t>(experiment)).Bind(2, trial);
  while (true) {
    DT_ASSIGN_OR_RETURN(const bool found, query.Step());
    if (!found) return runs;
    DT_RETURN_IF_ERROR(CheckRow(query, kRuns));
    const auto attempt = static_cast<size_t>(query.Integer(2));
    runs.resize(std::max(runs.size(), attempt));
    if (attempt > 0) runs[attempt - 1] = {true, static_cast<uint64_t>(query.Integer(3))};
  }
}

// Merges `more` into `into`: the later value of a name counts.
void Join(const v1::Evaluation& more, v1::Evaluation& into) {
  if (!std::isnan(more.loss())) into.set_loss(more.loss());
  if (more.has_train_loss()) into.set_train_loss(more.train_loss());
  if (more.has_hellaswag_acc()) into.set_hellaswag_acc(more.hellaswag_acc());
  if (more.has_hellaswag_acc_norm()) into.set_hellaswag_acc_norm(more.hellaswag_acc_norm());
  for (const v1::Metric& metric : more.metrics()) {
    auto* all = into.mutable_metrics();
    const auto known = std::find_if(all->begin(), all->end(), [&metric](const v1::Metric& each) {
      return each.name() == metric.name();
    });
    (known == all->end() ? *all->Add() : *known) = metric;
  }
}

}  // namespace

std::string TokenBehindRow(uint32_t trial, uint64_t step, uint32_t attempt) {
  return ToToken({Position::Part::kRows, 0, trial, step, attempt});
}

struct SqlReader::Page {
  Position from;
  size_t room = 0;
  v1::ReadMetricsResponse response;
  bool Full() const { return room == 0; }
};

absl::StatusOr<std::unique_ptr<StoreReader>> OpenSqliteReader(const std::string& directory) {
  DT_ASSIGN_OR_RETURN(Database database,
                      Database::Open(directory + "/journal.db", Access::kReadOnly));
  DT_RETURN_IF_ERROR(database.Execute("PRAGMA query_only = ON; PRAGMA cache_size = -4096;"));
  return SqlReader::Over(std::make_unique<Database>(std::move(database)));
}

absl::StatusOr<std::unique_ptr<StoreReader>> SqlReader::Over(
    std::unique_ptr<Connection> connection) {
  auto reader = std::unique_ptr<SqlReader>(new SqlReader(std::move(connection)));
  DT_RETURN_IF_ERROR(reader->PrepareStatements());
  return std::unique_ptr<StoreReader>(std::move(reader));
}

absl::Status SqlReader::PrepareStatements() {
  const std::pair<Statement*, std::string> statements[] = {
      {&runs_, Select(kRuns, "WHERE experiment = ? AND trial = ?")},
      {&next_trial_, "SELECT min(trial) FROM chunks WHERE experiment = ? AND trial >= ?"},
      {&chunks_,
       Select(
           kChunks,
           "WHERE experiment = ? AND trial = ? AND last_step >= ? ORDER BY first_step, attempt")},
      {&evaluations_,
       Select(kEvaluations,
              "WHERE experiment = ?1 AND (?2 = 0 OR trial = ?2) AND id > ?3 ORDER BY id LIMIT ?4")},
      {&logs_, Select(kLogs,
                      "WHERE experiment = ?1 AND trial = ?2 AND id > ?3 AND (?4 < 0 OR rank = ?4) "
                      "ORDER BY id")},
  };
  for (const auto& [statement, sql] : statements) {
    DT_ASSIGN_OR_RETURN(*statement, Statement::Prepare(*connection_, sql));
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::ReadMetricsResponse> SqlReader::ReadMetrics(
    const v1::ReadMetricsRequest& request) {
  Page page;
  DT_ASSIGN_OR_RETURN(page.from, ParseToken(request.page_token()));
  page.room = static_cast<size_t>(
      PageSize(request.page_size(), limits::kMetricRowsPageDefault, limits::kMetricRowsPageMax));
  if (page.from.part == Position::Part::kEvaluations) {
    DT_RETURN_IF_ERROR(ReadEvaluations(request, page));
    if (page.Full()) return std::move(page.response);
  }
  const uint32_t last =
      request.trial() == 0 ? std::numeric_limits<uint32_t>::max() - 1 : request.trial();
  uint32_t trial = std::max(request.trial(), page.from.trial);
  while (trial <= last && !page.Full()) {
    DT_ASSIGN_OR_RETURN(trial, NextTrial(request, trial));
    if (trial == 0 || trial > last) return std::move(page.response);
    DT_RETURN_IF_ERROR(ReadTrialRows(request, trial, page));
    ++trial;
  }
  return std::move(page.response);
}

absl::Status SqlReader::ReadEvaluations(const v1::ReadMetricsRequest& request, Page& page) {
  Using guard(evaluations_);
  evaluations_.Bind(1, static_cast<int64_t>(request.experiment())).Bind(2, request.trial());
  evaluations_.Bind(3, page.from.evaluation).Bind(4, static_cast<int64_t>(page.room));
  int64_t last_id = page.from.evaluation;
  std::vector<v1::EvaluationRow> rows;
  for (size_t bytes = 0; !page.Full();) {
    DT_ASSIGN_OR_RETURN(const bool found, evaluations_.Step());
    if (!found) break;
    DT_RETURN_IF_ERROR(CheckRow(evaluations_, kEvaluations));
    last_id = evaluations_.Integer(5);
    --page.room;
    bytes += evaluations_.Blob(3).size();
    if (bytes > limits::kPageBytes) page.room = 0;  // generated texts are large
    v1::EvaluationRow& row = rows.emplace_back();
    row.set_trial(static_cast<uint32_t>(evaluations_.Integer(1)));
    row.set_attempt(static_cast<uint32_t>(evaluations_.Integer(2)));
    const std::string_view blob = evaluations_.Blob(3);
    if (!row.mutable_evaluation()->ParseFromArray(blob.data(), static_cast<int>(blob.size()))) {
      return absl::DataLossError(absl::StrCat("evaluation ", last_id, " cannot be read"));
    }
  }
  if (page.Full()) {
    page.response.set_next_page_token(ToToken({Position::Part::kEvaluations, last_id, 0, 0, 0}));
  }
  evaluations_.Reset();
  return AddEvaluations(request, std::move(rows), page);
}

absl::Status SqlReader::AddEvaluations(const v1::ReadMetricsRequest& request,
                                       std::vector<v1::EvaluationRow> rows, Page& page) {
  std::map<uint32_t, Runs> runs;   // by trial
  std::map<uint32_t, int> newest;  // index of each trial's last evaluation in the page
  for (v1::EvaluationRow& row : rows) {
    auto known = runs.find(row.trial());
    if (known == runs.end()) {
      DT_ASSIGN_OR_RETURN(Runs read, ReadRuns(runs_, request.experiment(), row.trial()));
      known = runs.emplace(row.trial(), std::move(read)).first;
    }
    row.set_superseded(!IsValid(known->second, row.attempt(), row.evaluation().step()));
    if (row.superseded() && !request.all_attempts()) continue;
    // Several lines of a program about one step become one evaluation for the reader.
    if (const auto last = newest.find(row.trial()); last != newest.end()) {
      v1::EvaluationRow& before = *page.response.mutable_evaluations(last->second);
      if (before.attempt() == row.attempt() &&
          before.evaluation().step() == row.evaluation().step() &&
          before.evaluation().split() == row.evaluation().split()) {
        Join(row.evaluation(), *before.mutable_evaluation());
        continue;
      }
    }
    newest[row.trial()] = page.response.evaluations_size();
    *page.response.add_evaluations() = std::move(row);
  }
  return absl::OkStatus();
}

// Returns the first trial from `at_least` on that has rows; 0: none.
absl::StatusOr<uint32_t> SqlReader::NextTrial(const v1::ReadMetricsRequest& request,
                                              uint32_t at_least) {
  Using guard(next_trial_);
  next_trial_.Bind(1, static_cast<int64_t>(request.experiment())).Bind(2, at_least);
  DT_RETURN_IF_ERROR(next_trial_.Step().status());
  return static_cast<uint32_t>(next_trial_.Integer(0));
}

// Chunks arrive by first step. A row waits until no later chunk can hold an earlier row. This
// merges a trial's attempts with memory only for their overlap.
absl::Status SqlReader::ReadTrialRows(const v1::ReadMetricsRequest& request, uint32_t trial,
                                      Page& page) {
  DT_ASSIGN_OR_RETURN(const Runs runs, ReadRuns(runs_, request.experiment(), trial));
  const bool goes_on = page.from.part == Position::Part::kRows && page.from.trial == trial;
  const std::pair<uint64_t, uint32_t> after =
      goes_on ? std::pair(page.from.step, page.from.attempt) : std::pair<uint64_t, uint32_t>(0, 0);
  std::map<std::pair<uint64_t, uint32_t>, v1::MetricRow> waiting;
  const auto emit_before = [&](uint64_t step) {
    while (!waiting.empty() && waiting.begin()->first.first < step && !page.Full()) {
      const auto [at_step, attempt] = waiting.begin()->first;
      *page.response.add_rows() = std::move(waiting.begin()->second);
      waiting.erase(waiting.begin());
      if (--page.room == 0) {
        page.response.set_next_page_token(
            ToToken({Position::Part::kRows, 0, trial, at_step, attempt}));
      }
    }
  };
  Using guard(chunks_);
  chunks_.Bind(1, static_cast<int64_t>(request.experiment())).Bind(2, trial);
  chunks_.Bind(3, static_cast<int64_t>(after.first));
  v1::StepRows rows;
  while (!page.Full()) {
    DT_ASSIGN_OR_RETURN(const bool found, chunks_.Step());
    if (!found) break;
    DT_RETURN_IF_ERROR(CheckRow(chunks_, kChunks));
    const auto attempt = static_cast<uint32_t>(chunks_.Integer(2));
    emit_before(static_cast<uint64_t>(chunks_.Integer(3)));
    const std::string_view blob = chunks_.Blob(5);
    if (!rows.ParseFromArray(blob.data(), static_cast<int>(blob.size()))) {
      return absl::DataLossError(absl::StrCat("metric rows of trial ", request.experiment(), "/",
                                              trial, " cannot be read"));
    }
    for (v1::StepRow& row : *rows.mutable_rows()) {
      const bool superseded = !IsValid(runs, attempt, row.step());
      if (superseded && !request.all_attempts()) continue;
      if (goes_on && std::pair(uint64_t{row.step()}, attempt) <= after) continue;
      v1::MetricRow& kept = waiting[{row.step(), attempt}];
      kept.set_trial(trial);
      kept.set_attempt(attempt);
      kept.set_superseded(superseded);
      *kept.mutable_row() = std::move(row);
    }
  }
  emit_before(kAllSteps);
  return absl::OkStatus();
}

absl::StatusOr<v1::ReadLogsResponse> SqlReader::ReadLogs(const v1::ReadLogsRequest& request) {
  if (request.trial() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("logs are read trial by trial; name one, such "
                     "as ",
                     request.experiment(), "/1"));
  }
  int64_t after = 0;
  if (!request.page_token().empty() && !absl::SimpleAtoi(request.page_token(), &after)) {
    return absl::InvalidArgumentError(
        absl::StrCat("page_token '", request.page_token(),
                     "' is not from this method; start again without a token"));
  }
  Using guard(logs_);
  logs_.Bind(1, static_cast<int64_t>(request.experiment())).Bind(2, request.trial());
  logs_.Bind(3, after).Bind(4, request.rank());
  v1::ReadLogsResponse response;
  const int64_t chunks = PageSize(request.page_size(), limits::kPageDefault, limits::kPageMax);
  size_t bytes = 0;
  while (response.chunks_size() < chunks && bytes < limits::kLogPageBytes) {
    DT_ASSIGN_OR_RETURN(const bool found, logs_.Step());
    if (!found) {
      response.set_at_end(true);
      break;
    }
    DT_RETURN_IF_ERROR(CheckRow(logs_, kLogs));
    after = logs_.Integer(8);
    v1::LogLineChunk& chunk = *response.add_chunks();
    chunk.set_attempt(static_cast<uint32_t>(logs_.Integer(2)));
    auto& log = *chunk.mutable_log();
    log.set_rank(static_cast<int32_t>(logs_.Integer(3)));
    log.set_wall_time_ms(logs_.Integer(4));
    log.set_dropped_lines(static_cast<uint64_t>(logs_.Integer(5)));
    log.set_text(logs_.Text(6));
    bytes += log.text().size();
  }
  response.set_next_page_token(absl::StrCat(after));
  return response;
}

}  // namespace dt
