// line_reader.h: bytes of a pipe into lines, bounded in length and rate.
//
// Role:   pure but for the steady time handed in. Each pipe has a reader and so an allowance of its
//         own: a flood on one leaves the other's lines alone.
// Bound:  limits::kLogLineBytes a line, the rest of it left out; limits::kLogLinesPerSecond lines a
//         second at once. Of those beyond, the newest limits::kLogLinesHeld wait for the next
//         second or the end; the rest is counted.
// Tests:  tests/worker/shell/line_reader_test.cc
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/limits.h"

namespace dt {

class LineReader {
 public:
  // In the order of the pipe: what was left out comes before the lines.
  struct Lines {
    uint64_t dropped = 0;
    std::string dropped_error;  // the newest of those that says an error
    std::vector<std::string> lines;

    bool Empty() const { return dropped == 0 && lines.empty(); }
  };
  // Returns what may go now. No bytes: what waited and is due.
  Lines Take(std::string_view bytes, absl::Duration now);
  // Returns all that waits, then the line that has no end yet: at the end of what was to be read.
  Lines Finish();
  // Steady time at which Take has something that waits now; infinite: never.
  absl::Duration NextDeadline() const;

 private:
  void End(Lines& out);
  void Release(Lines& out);

  std::string line_;           // the unfinished one, at most kLogLineBytes
  bool after_return_ = false;  // a carriage return came last: a newline would be the same end
  absl::Duration second_ = -absl::InfiniteDuration();
  int taken_ = 0;                 // of this second's allowance
  std::deque<std::string> held_;  // the newest beyond it
  uint64_t dropped_ = 0;          // older ones than those
  std::string dropped_error_;
};

}  // namespace dt
