// sql_reader.h: reads metric history and logs beside the writer.
//
// Role:      a StoreReader with its own connection. Each call reads one page and ends its read
//            transaction, so that the writer's log can be folded back.
// Threads:   one thread at a time.
// Errors:    InvalidArgument names a page token that is not ours; DataLoss for a row whose checksum
//            does not match.
// Invariant: rows are ordered by (trial, step, attempt); a row is superseded if a later attempt
//            resumed before its step.
// Tests:     tests/coordinator/store/store_test.cc
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/store/sql.h"
#include "coordinator/store/store.h"

namespace dt {

// Returns the page_token with which ReadMetrics continues after this row of a trial.
std::string TokenBehindRow(uint32_t trial, uint64_t step, uint32_t attempt);

class SqlReader final : public StoreReader {
 public:
  static absl::StatusOr<std::unique_ptr<StoreReader>> Over(std::unique_ptr<Connection> connection);

  absl::StatusOr<v1::ReadMetricsResponse> ReadMetrics(
      const v1::ReadMetricsRequest& request) override;
  absl::StatusOr<v1::ReadLogsResponse> ReadLogs(const v1::ReadLogsRequest& request) override;

 private:
  struct Page;

  explicit SqlReader(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}
  absl::Status PrepareStatements();
  absl::Status ReadEvaluations(const v1::ReadMetricsRequest& request, Page& page);
  absl::Status AddEvaluations(const v1::ReadMetricsRequest& request,
                              std::vector<v1::EvaluationRow> rows, Page& page);
  absl::StatusOr<uint32_t> NextTrial(const v1::ReadMetricsRequest& request, uint32_t at_least);
  absl::Status ReadTrialRows(const v1::ReadMetricsRequest& request, uint32_t trial, Page& page);

  const std::unique_ptr<Connection> connection_;
  Statement runs_, next_trial_, chunks_, evaluations_, logs_;
};

// Opens the journal that SqliteStore::Open created in `directory`.
absl::StatusOr<std::unique_ptr<StoreReader>> OpenSqliteReader(const std::string& directory);

}  // namespace dt
