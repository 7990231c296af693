// log_lines.h: the newest lines of a trial's stored log, with an optional search.
//
// Role:   reads the chunks from the caller's position on, and keeps their newest lines. Both a log
//         (limits::kLogNewestBytes) and an answer are bounded.
// Errors: the reader's.
// Tests:  tests/coordinator/api/log_lines_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include "absl/status/statusor.h"
#include "coordinator/api/call.h"
#include "coordinator/store/store.h"

namespace dt {

struct LogLine {
  uint32_t attempt = 0;
  int32_t rank = 0;
  int64_t wall_time_ms = 0;
  std::string text;
  uint64_t dropped_lines = 0;  // lines after this one that the trainer's worker left out
};

struct LogLines {
  std::deque<LogLine> lines;    // the oldest first
  uint64_t left_out = 0;        // older lines that match too
  std::string next_page_token;  // the position where the next read continues
};

// Reads trial, rank, tail, since_wall_ms, grep and page_token of `call`. `experiment` is the
// resolved one.
absl::StatusOr<LogLines> ReadLogLines(StoreReader& reader, ExperimentId experiment,
                                      const ApiCall& call);

}  // namespace dt
