// hang_timer.h: how long a program may be silent before it counts as hung.
//
// Role:   pure. `timeout` of the experiment file decides; without a time in it, the program's own
//         pauses do.
// Bounds: kSilenceLeast and kPausesOfSilence for `auto`.
// Tests:  tests/worker/program/hang_timer_test.cc
#pragma once

#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "common/limits.h"

namespace dt::program {

// `auto` says nothing before so many reports have shown how long the pauses between them are.
inline constexpr int kReportsBeforeAuto = 10;
inline constexpr double kPausesOfSilence = 20;
// Shorter silences are those of an evaluation or of a slow disk.
inline constexpr absl::Duration kSilenceLeast = absl::Minutes(2);

struct Timeouts {
  bool by_own_pauses = false;                          // `auto`
  absl::Duration report = absl::InfiniteDuration();    // between two reports
  absl::Duration start = absl::InfiniteDuration();     // from the start to the first report
  absl::Duration total = absl::InfiniteDuration();     // of all attempts
  absl::Duration stop = limits::kCheckpointStopGrace;  // to save
};
// The values of the specification. `report`: auto | never | a time; any other text means never, as
// does "", which a version without limits sends. 0 seconds: no limit, or for `stop` the default.
struct TimeoutValues {
  std::string report;
  double start_seconds = 0;
  double total_seconds = 0;
  double stop_seconds = 0;
};
Timeouts TimeoutsOf(const TimeoutValues& values);

// Times are steady ones.
class HangTimer {
 public:
  HangTimer(Timeouts timeouts, absl::Duration started);

  void NoteReport(absl::Duration now);
  // A printed line shows life to `auto`, which only guesses how often a program reports.
  void NoteOutput(absl::Duration now);
  // The program waits for us: what passes until the next call is not its silence.
  void NoteWait(absl::Duration now);
  // Notes that we ran at `now`. A process that was stopped or suspended finds out here by the time
  // since the last call, and counts that time against nobody.
  void NoteTurn(absl::Duration now);

  // Time at which the program counts as hung; infinite: never.
  absl::Duration Deadline() const;
  // Says which limit has passed: "no report for 5m, which is timeout.report". "": none.
  std::string Overdue(absl::Duration now) const;

 private:
  absl::Duration Limit() const;

  const Timeouts timeouts_;
  absl::Duration quiet_since_;  // the last report, or the start
  absl::Duration output_at_;    // the last printed line or report, or the start
  absl::Duration longest_pause_ = absl::ZeroDuration();
  absl::Duration turn_at_;  // the last NoteTurn
  int reports_ = 0;
};

}  // namespace dt::program
