// hang_timer.cc: see hang_timer.h.
#include "worker/program/hang_timer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/limits.h"

namespace dt::program {
namespace {

// Our turns come at least once a minute (runner.cc). One that is later by this means that the host
// or its processes stood still.
constexpr absl::Duration kStandstill = absl::Seconds(90);

}  // namespace

Timeouts TimeoutsOf(const TimeoutValues& values) {
  Timeouts timeouts;
  absl::Duration limit;
  if (values.report == "auto") {
    timeouts.by_own_pauses = true;
  } else if (absl::ParseDuration(values.report, &limit) && limit >= limits::kReportTimeoutLeast) {
    timeouts.report = limit;
  }
  if (values.start_seconds > 0) timeouts.start = absl::Seconds(values.start_seconds);
  if (values.total_seconds > 0) timeouts.total = absl::Seconds(values.total_seconds);
  timeouts.stop = limits::StopGrace(values.stop_seconds);
  return timeouts;
}

HangTimer::HangTimer(Timeouts timeouts, absl::Duration started)
    : timeouts_(timeouts), quiet_since_(started), output_at_(started), turn_at_(started) {}

void HangTimer::NoteReport(absl::Duration now) {
  if (reports_ > 0) longest_pause_ = std::max(longest_pause_, now - quiet_since_);
  reports_ = std::min(reports_ + 1, kReportsBeforeAuto);
  quiet_since_ = output_at_ = now;
}

void HangTimer::NoteOutput(absl::Duration now) { output_at_ = now; }

void HangTimer::NoteWait(absl::Duration now) {
  quiet_since_ = std::max(quiet_since_, now);
  output_at_ = std::max(output_at_, now);
}

void HangTimer::NoteTurn(absl::Duration now) {
  const absl::Duration passed = now - turn_at_;
  turn_at_ = now;
  if (passed < kStandstill) return;
  quiet_since_ += passed;
  output_at_ += passed;
}

absl::Duration HangTimer::Limit() const {
  if (reports_ == 0) return timeouts_.start;
  if (!timeouts_.by_own_pauses) return timeouts_.report;
  if (reports_ < kReportsBeforeAuto) return absl::InfiniteDuration();
  return std::max(kSilenceLeast, kPausesOfSilence * longest_pause_);
}

absl::Duration HangTimer::Deadline() const {
  const bool guesses = reports_ > 0 && timeouts_.by_own_pauses;
  return (guesses ? output_at_ : quiet_since_) + Limit();
}

std::string HangTimer::Overdue(absl::Duration now) const {
  if (now < Deadline()) return "";
  const std::string limit = absl::FormatDuration(absl::Trunc(Limit(), absl::Seconds(1)));
  if (reports_ == 0) {
    return absl::StrCat("no report within ", limit, " of its start, which is timeout.start");
  }
  if (!timeouts_.by_own_pauses) {
    return absl::StrCat("no report for ", limit, ", which is timeout.report");
  }
  return absl::StrCat("no report and no output for ", limit, ", ",
                      kPausesOfSilence * longest_pause_ > kSilenceLeast
                          ? absl::StrCat(kPausesOfSilence, " times its longest pause until then")
                          : std::string("much longer than any pause until then"),
                      "; write timeout: {report: 30m}, or never, if such pauses are normal for it");
}

}  // namespace dt::program
