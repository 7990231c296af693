// attempt_reports.cc: carries what a program reports, prints and writes to the agent.
#include <errno.h>
#include <unistd.h>

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "worker/program/attempt.h"
#include "worker/program/report.h"

namespace dt::program {
namespace {

// Bytes read in one turn: a flood from a program must not delay a stop.
constexpr size_t kReadShare = 256 << 10;

// Returns whether a line of the descriptor replaces printed reports. One that has only a checkpoint
// or progress does not: the program may print its numbers.
bool ReplacesPrinted(std::string_view line) {
  const auto read = ReadReport(line);
  const auto* report = std::get_if<Report>(&read);
  if (report == nullptr || !report->numbers.empty()) return true;
  return !report->checkpoint && !report->progress;
}

}  // namespace

// Prepares to read the program's numbers. Only those of rank 0 count.
absl::Status ProgramAttempt::PrepareMetrics(const std::string& folder, uint64_t resumed) {
  if (!IsRoot()) {
    LeavePrintedReports();
    return absl::OkStatus();
  }
  DT_ASSIGN_OR_RETURN(metrics_, Metrics::Make(spec_, folder, resumed));
  printed_.ReadBy(metrics_->printed());
  errors_.ReadBy(metrics_->printed());
  return absl::OkStatus();
}

void ProgramAttempt::ReadReports(Instant now) {
  char chunk[65536];
  TakeLines(now);
  // While a folder is hashed later lines wait, so that reports keep their order.
  for (size_t total = 0; total < kReadShare && !checkpoints_->busy(); TakeLines(now)) {
    const ssize_t got = read(pipe_.get(), chunk, sizeof(chunk));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    total += static_cast<size_t>(got);
    unread_.append(chunk, static_cast<size_t>(got));
    if (metrics_ && unread_.find("\"checkpoint\"") != std::string::npos) CatchUp(now);
  }
}

// Takes the numbers that were printed or written to a file until now. A checkpoint without a step
// belongs to the newest of them.
void ProgramAttempt::CatchUp(Instant now) {
  printed_.Serve(now.steady);
  errors_.Serve(now.steady);
  TakePrinted(now);
  if (!checkpoints_->busy()) PassLines(metrics_->LookNow(now.steady), now);
}

void ProgramAttempt::TakeLines(Instant now) {
  size_t start = 0;
  for (size_t end; !checkpoints_->busy() && (end = unread_.find('\n', start)) != std::string::npos;
       start = end + 1) {
    const std::string_view line = std::string_view(unread_).substr(start, end - start);
    if (!std::exchange(overlong_, false) && !line.empty()) TakeLine(line, now);
  }
  unread_.erase(0, start);
  if (checkpoints_->busy() || unread_.size() <= limits::kProgramLineBytes) return;
  if (!std::exchange(overlong_, true)) TakeLine(unread_, now);
  unread_.clear();
}

void ProgramAttempt::TakeLine(std::string_view line, Instant now) {
  if (IsRoot()) {
    if (reads_printed_ && ReplacesPrinted(line)) {
      reads_printed_ = false;
      LeavePrintedReports();
      if (took_printed_) {
        Log("it reports by its descriptor; from now on a printed line is no report");
      }
    }
    hang_timer_->NoteReport(now.steady);
    return Pass(reports_->Take(line, now));
  }
  if (std::exchange(logged_other_rank_, true)) return;
  Log(absl::StrCat(
      "rank ", start_.rank,
      " reports; reports of ranks other than 0 are left out, and only this line says so"));
}

// A line about a checkpoint makes the others wait.
void ProgramAttempt::TakePrinted(Instant now) {
  for (Printed* stream : {&printed_, &errors_}) {
    while (!checkpoints_->busy()) {
      const std::optional<std::string> line = stream->Next(now.steady);
      if (!line) break;
      took_printed_ = metrics_->printed() == nullptr;
      hang_timer_->NoteReport(now.steady);
      Pass(reports_->Take(*line, now));
    }
  }
}

void ProgramAttempt::PassLines(const MetricFiles::Taken& taken, Instant now) {
  for (const std::string& complaint : taken.complaints) Log(complaint);
  for (const std::string& line : taken.lines) {
    hang_timer_->NoteReport(now.steady);
    Pass(reports_->Take(line, now));
  }
}

void ProgramAttempt::Pass(const Reports::Outgoing& out) {
  for (const frames::FromTrainer& frame : out.frames) say_(frame);
  for (const std::string& complaint : out.complaints) Log(complaint);
  if (out.saved && stop_request_ != StopRequest::kLeave) Pass(checkpoints_->Begin(*out.saved));
}

void ProgramAttempt::Pass(const Checkpoints::Outgoing& out) {
  for (const frames::FromTrainer& frame : out.frames) say_(frame);
  for (const std::string& complaint : out.complaints) Log(complaint);
}

void ProgramAttempt::LeavePrintedReports() {
  printed_.LeaveReports();
  errors_.LeaveReports();
}

// Prefers a line of standard output, unless only one of standard error has all of a report.
std::string ProgramAttempt::HintNow(Reports::When when) const {
  if (!reports_ || !IsRoot()) return "";
  const std::optional<NearMiss>& printed = printed_.near();
  const std::optional<NearMiss>& error = errors_.near();
  const bool prefers_error = error && (!printed || (error->close && !printed->close));
  return reports_->Hint(when, prefers_error ? error : printed, metrics_ ? metrics_->Missing() : "");
}

void ProgramAttempt::SayHint() {
  std::string hint = HintNow(Reports::When::kRunning);
  if (hint == hint_) return;
  hint_ = std::move(hint);
  say_(frames::Progress{.token = start_.token, .step = reports_->step(), .hint = hint_});
}

}  // namespace dt::program
