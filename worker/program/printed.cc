// printed.cc: see printed.h.
#include "worker/program/printed.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <variant>

#include "common/files.h"
#include "common/limits.h"
#include "common/text.h"
#include "worker/program/report.h"

namespace dt::program {
namespace {

// Bytes passed on in one turn: a flood from a program must not delay a stop.
constexpr size_t kPassShare = 256 << 10;
// Bytes of reports that wait while a checkpoint is stored: as many as the descriptor's pipe holds.
constexpr size_t kPrintedBytes = 1 << 20;
// Bytes left in the pipe once nobody writes to it: more than the kernel's default size.
constexpr size_t kRestBytes = 4 << 20;
// A print and the report of the same numbers are a few instructions apart, but the first `import
// dtrain` may lie between them.
constexpr absl::Duration kHold = absl::Seconds(1);

// If this many first lines of a program have nothing of a report, it does not nearly report; each
// check costs some microseconds.
constexpr int kLinesLooked = 20'000;

}  // namespace

// Writes to the trial's log. Blocks until its reader, which takes everything, has made room.
void Printed::PassOn(std::string_view text) const {
  const int log = stream_ == Stream::kOutput ? STDOUT_FILENO : STDERR_FILENO;
  while (!text.empty()) {
    const ssize_t put = write(log, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return;  // there is no reader
    text.remove_prefix(static_cast<size_t>(put));
  }
}

absl::StatusOr<UniqueFd> Printed::Open() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return SystemError("make", "a pipe");
  pipe_ = UniqueFd(ends[0]);
  fcntl(pipe_.get(), F_SETFL, O_NONBLOCK);
  return UniqueFd(ends[1]);
}

void Printed::Note(std::string_view line) {
  if (std::exchange(mid_line_, false)) PassOn("\n");
  PassOn(std::string(line) + "\n");
}

Printed::Read Printed::Pass(absl::Duration now) {
  char chunk[65536];
  for (;;) {
    const ssize_t got = pipe_.valid() ? read(pipe_.get(), chunk, sizeof(chunk)) : 0;
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) pipe_.Reset();
    if (got <= 0) return Read::kNothing;
    const std::string_view text(chunk, static_cast<size_t>(got));
    PassOn(text);
    mid_line_ = text.back() != '\n';
    TakeText(text, now);
    return Read::kSome;
  }
}

bool Printed::Serve(absl::Duration now) {
  bool any = false;
  for (size_t i = 0; i < kPassShare / 65536 && !Full() && Pass(now) == Read::kSome; ++i) any = true;
  return any;
}

void Printed::Finish(absl::Duration now) {
  if (std::exchange(finished_, true)) return;
  for (size_t i = 0; i < kRestBytes / 65536 && Pass(now) == Read::kSome; ++i) {
  }
  pipe_.Reset();
  TakeLine(unread_, now);
  unread_.clear();
}

void Printed::TakeText(std::string_view text, absl::Duration now) {
  // A progress bar is redrawn after a carriage return, perhaps for hours without a newline.
  for (size_t end; Reads() && (end = text.find_first_of("\r\n")) != std::string_view::npos;) {
    unread_ += text.substr(0, end);
    if (!std::exchange(overlong_, false)) TakeLine(unread_, now);
    unread_.clear();
    text.remove_prefix(end + 1);
  }
  if (!Reads()) return;
  unread_ += text;
  if (unread_.size() <= limits::kProgramLineBytes) return;
  overlong_ = true;
  unread_.clear();
}

void Printed::TakeLine(std::string_view line, absl::Duration now) {
  line = Trimmed(line);
  if (!Reads() || line.empty()) return;
  if (TakeByPattern(line) || !reports_) return;
  const bool counts = stream_ == Stream::kOutput;
  if (counts && line.starts_with('{') && line.ends_with('}') && TakeReport(line)) {
    newest_at_ = now;
  } else if ((!near_ || !near_->close) && looked_ < kLinesLooked) {
    ++looked_;
    std::optional<NearMiss> near =
        counts ? FindNearMiss(line, metric_) : FindNearMissOnError(line, metric_);
    if (near && (!near_ || near->close)) near_ = std::move(near);
  }
}

bool Printed::TakeByPattern(std::string_view line) {
  if (metrics_ == nullptr) return false;
  const std::optional<Sample> sample = metrics_->lines.Take(line);
  if (!sample) return false;
  std::string text = metrics_->samples.LineOf(*sample);
  if (text.empty()) return true;
  due_bytes_ += text.size();
  due_.push_back(std::move(text));
  newest_at_ = -absl::InfiniteDuration();
  return true;
}

bool Printed::TakeReport(std::string_view line) {
  const auto read = ReadReport(line, metric_);
  const auto* report = std::get_if<Report>(&read);
  if (report == nullptr) return false;
  // Logs may be JSON too: a line with only texts is not a report.
  const bool tells = !report->numbers.empty() || report->checkpoint || report->progress ||
                     (report->flaws.empty() && report->step_word == "step");
  if (!tells) return false;
  due_.emplace_back(line);
  due_bytes_ += line.size();
  return true;
}

std::optional<std::string> Printed::Next(absl::Duration now) {
  if (due_.empty() || NextDeadline() > now) return std::nullopt;
  std::string line = std::move(due_.front());
  due_.pop_front();
  due_bytes_ -= line.size();
  return line;
}

void Printed::LeaveReports() {
  reports_ = false;
  if (metrics_ != nullptr) return;
  due_.clear();
  due_bytes_ = 0;
  unread_.clear();
}

bool Printed::Full() const { return due_bytes_ >= kPrintedBytes; }

int Printed::PollFd() const { return Full() ? -1 : pipe_.get(); }

absl::Duration Printed::NextDeadline() const {
  if (due_.empty()) return absl::InfiniteDuration();
  return due_.size() > 1 || finished_ ? -absl::InfiniteDuration() : newest_at_ + kHold;
}

}  // namespace dt::program
