// line_reader.h: bytes of a pipe into lines, bounded in length and rate.
//
// Role:   pure but for the steady time handed in.
// Bound:  limits::kLogLineBytes a line, the rest of it left out; limits::kLogLinesPerSecond lines a
//         second, the rest counted.
// Tests:  tests/worker/shell/line_reader_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/limits.h"

namespace dt {

// Lines a second, over all pipes of one process.
class LineRate {
 public:
  // False when this second's lines are used up.
  bool Admit(absl::Duration now);

 private:
  absl::Duration second_ = -absl::InfiniteDuration();
  int lines_ = 0;
};

class LineReader {
 public:
  struct Lines {
    std::vector<std::string> lines;
    uint64_t dropped = 0;
  };
  Lines Take(std::string_view bytes, LineRate& rate, absl::Duration now);
  // At the end of the pipe: what has no newline yet.
  Lines Finish(LineRate& rate, absl::Duration now);

 private:
  void Emit(Lines& out, LineRate& rate, absl::Duration now);

  std::string line_;  // the unfinished one, at most kLogLineBytes
};

}  // namespace dt
