// line_reader.h: splits a pipe's bytes into lines, bounded in length and rate.
//
// Role:   pure, given the steady time. Each pipe has a reader and so an allowance of its own: a
//         flood on one does not affect the other's lines.
// Bound:  limits::kLogLineBytes a line, the rest of it dropped; limits::kLogLinesPerSecond lines a
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
  // The result, in the order of the pipe: dropped lines come before the others.
  struct Lines {
    uint64_t dropped = 0;
    std::string dropped_error;  // the newest dropped line that reports an error
    std::vector<std::string> lines;

    bool Empty() const { return dropped == 0 && lines.empty(); }
  };
  // Returns the lines that may go now. No bytes: those that waited and are due.
  Lines Take(std::string_view bytes, absl::Duration now);
  // Returns all waiting lines, then an unfinished line; for the end of an attempt or of the input.
  // The allowance begins anew.
  Lines Finish();
  // Returns the steady time at which Take has a waiting line; infinite: never.
  absl::Duration NextDeadline() const;

 private:
  void End(Lines& out);
  void Release(Lines& out);

  std::string line_;           // the unfinished one, at most kLogLineBytes
  bool after_return_ = false;  // a carriage return came last: a newline would belong to the same
                               // line end
  absl::Duration second_ = -absl::InfiniteDuration();
  int taken_ = 0;                 // of this second's allowance
  std::deque<std::string> held_;  // the newest lines beyond the allowance
  uint64_t dropped_ = 0;          // older lines than those
  std::string dropped_error_;
};

}  // namespace dt
