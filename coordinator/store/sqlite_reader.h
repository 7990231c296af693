// sqlite_reader.h: metric history and logs, read beside the writer.
//
// Role:      Reader over a read-only connection of its own; each call reads one page and holds no
//            snapshot afterwards, so that the writer's log can be folded back.
// Threads:   one thread at a time.
// Errors:    InvalidArgument for a page token that is not ours, naming it; DataLoss for a row that
//            is not what was written.
// Invariant: rows come ordered by (trial, step, attempt); a row is superseded when a later attempt
//            resumed before its step.
// Tests:     tests/coordinator/store/sqlite_store_test.cc
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "coordinator/store/sqlite.h"
#include "coordinator/store/store.h"

namespace dt {

// The page_token with which ReadMetrics goes on behind this row of a trial.
std::string TokenBehindRow(uint32_t trial, uint64_t step, uint32_t attempt);

class SqliteReader final : public Reader {
 public:
  // Opens the journal that SqliteStore::Open made in `directory`.
  static absl::StatusOr<std::unique_ptr<SqliteReader>> Open(const std::string& directory);

  absl::StatusOr<v1::ReadMetricsResponse> ReadMetrics(
      const v1::ReadMetricsRequest& request) override;
  absl::StatusOr<v1::ReadLogsResponse> ReadLogs(const v1::ReadLogsRequest& request) override;

 private:
  struct Page;

  explicit SqliteReader(Database database) : database_(std::move(database)) {}
  absl::Status PrepareStatements();
  absl::Status ReadEvaluations(const v1::ReadMetricsRequest& request, Page& page);
  absl::StatusOr<uint32_t> NextTrial(const v1::ReadMetricsRequest& request, uint32_t at_least);
  absl::Status ReadTrialRows(const v1::ReadMetricsRequest& request, uint32_t trial, Page& page);

  Database database_;
  Statement runs_, next_trial_, chunks_, evaluations_, logs_;
};

}  // namespace dt
