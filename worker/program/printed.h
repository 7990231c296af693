// printed.h: passes one stream of a program's output on to the trial's log.
//
// Role:   the program's standard output and standard error go through a pipe of ours each, so that
//         our own lines begin where a line of the program ends. On rank 0's standard output a line
//         that is exactly a report counts as one, so that a program need not use dtrain's
//         descriptor; any other line goes to the log, and to the patterns of `metrics`. Standard
//         error has no such reports: only patterns, and lines that were nearly a report.
// Threads: one, which a reader of our own standard output that stands still would hold up.
//         A line that was nearly a report is kept for a hint, the first.
// Bounds: kPrintedBytes of reports that wait; beyond it the program waits, as at its descriptor. A
//         line above limits::kProgramLineBytes is no report. kLinesLooked lines are looked at for
//         one that was nearly a report.
// Errors: if this process is killed outright, the lines that it has not passed on are lost: those
//         of the last milliseconds.
// Tests:  tests/worker/program/output_test.cc
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
#include "worker/program/metric_lines.h"
#include "worker/program/near_miss.h"
#include "worker/program/samples.h"

namespace dt::program {

// The experiment's patterns for printed lines, which both streams of a program share.
struct PrintedMetrics {
  MetricLines lines;
  Samples samples;
};

class Printed {
 public:
  enum class Stream { kOutput, kError };
  // `metric`: the name that the search uses.
  Printed(Stream stream, std::string metric) : stream_(stream), metric_(std::move(metric)) {}

  // Also reads lines by these patterns, which must outlive this.
  void ReadBy(PrintedMetrics* metrics) { metrics_ = metrics; }

  // Opens the pipe; returns the program's end.
  absl::StatusOr<UniqueFd> Open();

  // Writes a line of our own to the trial's log, on a line of its own.
  void Note(std::string_view line);
  // Passes on a share of the available output. Returns whether there was any. `now`: steady time.
  bool Serve(absl::Duration now);
  // Passes on the rest, after the program and all processes below it have ended.
  void Finish(absl::Duration now);
  // Returns the oldest report that is due, if any. The newest waits for a moment, since a program
  // that prints a step's numbers and then reports them means the report.
  std::optional<std::string> Next(absl::Duration now);
  // Stops reading reports from the output, except by patterns: the program uses its descriptor or
  // FIFO.
  void LeaveReports();
  // Returns the first line that was nearly a report, preferring one with all parts of a report.
  const std::optional<NearMiss>& near() const { return near_; }

  // Returns -1 if there is nothing to wait for.
  int PollFd() const;
  // Returns the steady time at which Next has something; infinite: never.
  absl::Duration NextDeadline() const;

 private:
  enum class Read { kSome, kNothing };
  Read Pass(absl::Duration now);
  void TakeText(std::string_view text, absl::Duration now);
  void TakeLine(std::string_view line, absl::Duration now);
  bool TakeByPattern(std::string_view line);
  bool TakeReport(std::string_view line);  // returns whether it is one
  bool Full() const;
  bool Reads() const { return reports_ || metrics_ != nullptr; }
  void PassOn(std::string_view text) const;

  const Stream stream_;
  const std::string metric_;
  PrintedMetrics* metrics_ = nullptr;
  UniqueFd pipe_;
  std::string unread_;     // an unfinished line
  bool overlong_ = false;  // of the current line
  bool reports_ = true;
  bool finished_ = false;
  bool mid_line_ = false;  // the last bytes passed on do not end in a newline
  std::deque<std::string> due_;
  size_t due_bytes_ = 0;
  absl::Duration newest_at_ = -absl::InfiniteDuration();
  std::optional<NearMiss> near_;
  int looked_ = 0;
};

}  // namespace dt::program
