// scripted_reader.h: rows, evaluations and lines of a trial in memory, in pages like those of the
// real reader.
#pragma once

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "coordinator/store/sql_reader.h"
#include "coordinator/store/store.h"
#include "gtest/gtest.h"

namespace dt {

class ScriptedReader final : public StoreReader {
 public:
  absl::StatusOr<v1::ReadMetricsResponse> ReadMetrics(
      const v1::ReadMetricsRequest& request) override {
    ++calls;
    v1::ReadMetricsResponse response;
    size_t room = static_cast<size_t>(request.page_size());
    unsigned long long after_step = 0;
    const std::string& token = request.page_token();
    if (token.empty() || token[0] == 'e') {
      size_t next = 0;
      EXPECT_TRUE(token.empty() || absl::SimpleAtoi(token.substr(1), &next));
      for (; next < evaluations.size() && room > 0; ++next, --room) {
        *response.add_evaluations() = evaluations[next];
      }
      if (room == 0) {
        response.set_next_page_token(absl::StrCat("e", next));
        return response;
      }
    } else {
      unsigned long long trial = 0, attempt = 0;
      EXPECT_EQ(std::sscanf(token.c_str(), "r%llu.%llu.%llu", &trial, &after_step, &attempt), 3);
    }
    for (const v1::MetricRow& row : rows) {
      if (row.row().step() <= after_step) continue;
      *response.add_rows() = row;
      ++rows_read;
      if (--room == 0) {
        response.set_next_page_token(TokenBehindRow(row.trial(), row.row().step(), row.attempt()));
        break;
      }
    }
    return response;
  }
  absl::StatusOr<v1::ReadLogsResponse> ReadLogs(const v1::ReadLogsRequest& request) override {
    v1::ReadLogsResponse response;
    size_t next = 0;
    EXPECT_TRUE(request.page_token().empty() || absl::SimpleAtoi(request.page_token(), &next));
    for (size_t taken = 0; next < chunks.size() && taken < chunks_per_page; ++next) {
      if (request.rank() >= 0 && chunks[next].log().rank() != request.rank()) continue;
      *response.add_chunks() = chunks[next];
      ++taken;
    }
    response.set_at_end(next >= chunks.size());
    response.set_next_page_token(absl::StrCat(next));
    return response;
  }

  void AddRow(uint64_t step, double loss, uint32_t attempt = 1) {
    v1::MetricRow& row = rows.emplace_back();
    row.set_trial(1);
    row.set_attempt(attempt);
    row.mutable_row()->set_step(step);
    row.mutable_row()->set_loss(loss);
    row.mutable_row()->set_tokens(100);
    row.mutable_row()->set_seconds(0.5);
  }
  void AddEvaluation(uint64_t step, double loss) {
    v1::EvaluationRow& row = evaluations.emplace_back();
    row.set_trial(1);
    row.set_attempt(1);
    row.mutable_evaluation()->set_step(step);
    row.mutable_evaluation()->set_split("val");
    row.mutable_evaluation()->set_loss(loss);
    v1::Metric& own = *row.mutable_evaluation()->add_metrics();
    own.set_name("accuracy");
    own.set_value(loss / 10);
  }
  void AddLine(const std::string& text, int rank = 0, int64_t wall_time_ms = 0) {
    v1::LogLineChunk& chunk = chunks.emplace_back();
    chunk.set_attempt(1);
    chunk.mutable_log()->set_rank(rank);
    chunk.mutable_log()->set_wall_time_ms(wall_time_ms);
    chunk.mutable_log()->set_text(text);
  }

  std::vector<v1::MetricRow> rows;  // by step
  std::vector<v1::EvaluationRow> evaluations;
  std::vector<v1::LogLineChunk> chunks;
  size_t chunks_per_page = 2;
  size_t rows_read = 0;
  int calls = 0;
};

}  // namespace dt
