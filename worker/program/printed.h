// printed.h: one stream of a program's output, passed on to the trial's log.
//
// Role:   the program's standard output and standard error go through a pipe of ours each, so that
//         our own lines begin where a line of the program's ends. On rank 0's standard output a
//         line that is a report and nothing else counts as one, so that a program that knows
//         nothing of dtrain's descriptor need not learn of it; any other line is a line of the log
//         and no more. Standard error has no reports, only lines that were nearly one.
// Threads: one, which a reader of our own standard output that stands still would hold up.
//         A line that was nearly a report is kept for a hint, the first.
// Bounds: kPrintedBytes of reports that wait; beyond it the program waits, as at its descriptor.
//         A line above limits::kProgramLineBytes is no report. kLinesLooked lines are looked at for
//         one that was nearly a report.
// Tests:  tests/worker/program/program_test.cc
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/unique_fd.h"
#include "worker/program/near_miss.h"

namespace dt::program {

class Printed {
 public:
  enum class Stream { kOutput, kError };
  // `metric`: the name that the search goes by.
  Printed(Stream stream, std::string metric) : stream_(stream), metric_(std::move(metric)) {}

  // The program's end.
  absl::StatusOr<UniqueFd> Open();

  // Writes a line of our own to the trial's log, on a line of its own.
  void Note(std::string_view line);
  // Passes on what is there, a share of it. `now`: steady time.
  void Serve(absl::Duration now);
  // The program and all below it have ended: passes on what they left.
  void Finish(absl::Duration now);
  // The oldest report that is due; nothing: none is. The newest waits for a moment, since a program
  // that prints a step's numbers and then reports them means the latter.
  std::optional<std::string> Next(absl::Duration now);
  // It reports by its descriptor or FIFO. From now on nothing that it prints is a report.
  void LeaveReports();
  // The first line that was nearly a report; one with all that a report needs before others.
  const std::optional<NearMiss>& near() const { return near_; }

  // -1: there is nothing to wait for.
  int PollFd() const;
  // Steady time at which Next has something; infinite: never.
  absl::Duration NextDeadline() const;

 private:
  enum class Read { kSome, kNothing };
  Read Pass(absl::Duration now);
  void TakeText(std::string_view text, absl::Duration now);
  void TakeLine(std::string_view line, absl::Duration now);
  bool TakeReport(std::string_view line);  // whether it is one
  bool Full() const;
  void PassOn(std::string_view text) const;

  const Stream stream_;
  const std::string metric_;
  UniqueFd pipe_;
  std::string unread_;     // of a line
  bool overlong_ = false;  // the line that is being read
  bool reports_ = true;
  bool finished_ = false;
  bool mid_line_ = false;  // the newest that was passed on has no newline yet
  std::deque<std::string> due_;
  size_t due_bytes_ = 0;
  absl::Duration newest_at_ = -absl::InfiniteDuration();
  std::optional<NearMiss> near_;
  int looked_ = 0;
};

}  // namespace dt::program
