// telling.cc: rows, evaluations, progress; what is left out and what is wrong.
#include "worker/program/telling.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/shares.h"
#include "common/text.h"

namespace dt::program {
namespace {

// Live state alone, so that a person sees it move.
constexpr absl::Duration kProgressEvery = absl::Milliseconds(200);
// A program that errs in each line is not to fill its log with that.
constexpr int kComplaintsMost = 20;
constexpr size_t kQuotedBytes = 200;

}  // namespace

std::vector<uint64_t> RungSteps(uint64_t steps, const std::vector<uint64_t>& divisors,
                                double share_every) {
  std::vector<uint64_t> rungs = ShareSteps(share_every, steps);
  if (steps == 0) return rungs;
  for (const uint64_t divisor : divisors) {
    if (divisor > 0) rungs.push_back(steps / divisor + (steps % divisor == 0 ? 0 : 1));
  }
  std::sort(rungs.begin(), rungs.end());
  rungs.erase(std::unique(rungs.begin(), rungs.end()), rungs.end());
  return rungs;
}

Telling::Telling(Course course, Instant now)
    : course_(std::move(course)),
      step_(course_.resumed_step),
      told_row_step_(course_.resumed_step),
      told_row_at_(now.steady),
      allowance_(limits::kProgramReportsBurst),
      allowance_at_(now.steady) {
  while (rung_ < course_.rungs.size() && course_.rungs[rung_] <= course_.resumed_step) ++rung_;
}

std::string Telling::Doubt(const Report& report, uint64_t newest) const {
  const uint64_t step = *report.step;
  if (course_.steps > 0 && step > course_.steps) {
    return absl::StrCat("step ", step, " is beyond the last, ", course_.steps,
                        "; raise `steps` of the experiment");
  }
  if (step <= newest) {
    return absl::StrCat("step ", step, " follows step ", newest,
                        "; steps rise from 1, what belongs to one step comes in one line, and a "
                        "program that resumes goes on after DTRAIN_RESUME_STEP");
  }
  return {};
}

Telling::Said Telling::Take(std::string_view line, Instant now) {
  Said said;
  auto read = ReadReport(line);
  if (const auto* wrong = std::get_if<WrongLine>(&read)) {
    Complain(line, wrong->why, said);
    return said;
  }
  const Report& report = std::get<Report>(read);
  if (report.progress) {
    share_ = report.progress;
    progress_due_ = true;
  }
  if (!report.numbers.empty()) {
    const std::optional<uint64_t>& before = IsRow(report) ? row_step_ : evaluation_step_;
    const bool first_step = !IsRow(report) && !before && course_.resumed_step == *report.step;
    const std::string doubt =
        first_step ? "" : Doubt(report, before.value_or(course_.resumed_step));
    if (!doubt.empty()) {
      Complain(line, doubt, said);
      return said;
    }
    TakeNumbers(report, now, said);
  }
  if (report.checkpoint) {
    Report saved = report;
    if (!saved.step) saved.step = step_;
    const std::string doubt = Doubt(saved, saved_step_.value_or(course_.resumed_step));
    if (doubt.empty()) {
      TakeSaved(saved, said);
    } else {
      Complain(line, doubt, said);
    }
  } else if (report.step && report.numbers.empty() && *report.step > step_ &&
             (course_.steps == 0 || *report.step <= course_.steps)) {
    step_ = *report.step;
    progress_due_ = true;
  }
  SayProgress(now.steady, said);
  return said;
}

void Telling::TakeNumbers(const Report& report, Instant now, Said& said) {
  if (IsRow(report)) {
    TakeRow(report, now, said);
  } else {
    TakeEvaluation(report, now, said);
  }
  step_ = std::max(step_, *report.step);
  progress_due_ = true;
}

void Telling::TakeRow(const Report& report, Instant now, Said& said) {
  row_step_ = report.step;
  if (row_) ++left_out_;
  row_.reset();
  if (Admit(now.steady)) {
    SayRow(report, now, said);
  } else {
    row_ = Waiting{report, now};
  }
}

void Telling::TakeEvaluation(const Report& report, Instant now, Said& said) {
  evaluation_step_ = report.step;
  const auto loss = report.numbers.find("val_loss");
  validated_loss_ = loss == report.numbers.end() || std::isnan(loss->second)
                        ? std::nullopt
                        : std::optional(loss->second);
  if (evaluation_) ++left_out_;
  evaluation_.reset();
  const bool awaited = IsAwaited(*report.step);
  if (Admit(now.steady) || awaited) {
    SayEvaluation(report, said);
  } else {
    evaluation_ = Waiting{report, now};
  }
}

// A search compares at the first evaluation at or beyond a rung's step.
bool Telling::IsAwaited(uint64_t step) {
  const size_t before = rung_;
  while (rung_ < course_.rungs.size() && course_.rungs[rung_] <= step) ++rung_;
  return rung_ > before;
}

void Telling::TakeSaved(const Report& report, Said& said) {
  saved_step_ = report.step;
  SavedFolder saved{*report.checkpoint, *report.step, std::nullopt};
  if (evaluation_step_ == report.step) saved.loss = validated_loss_;
  said.saved = std::move(saved);
  step_ = std::max(step_, *report.step);
  progress_due_ = true;
}

void Telling::SayRow(const Report& report, Instant at, Said& said) {
  nlohmann::json row = {{"step", *report.step},
                        {"steps", static_cast<double>(*report.step - told_row_step_)},
                        {"seconds", absl::ToDoubleSeconds(at.steady - told_row_at_)},
                        {"wall_time_ms", at.wall_ms}};
  // These are values, not sums: what was not said is no number rather than 0.
  for (const char* name : {"loss", "learning_rate", "grad_norm"}) row[name] = nullptr;
  for (const auto& [name, value] : report.numbers) row[name] = value;
  told_row_step_ = *report.step;
  told_row_at_ = at.steady;
  said.frames.push_back(frames::StepDone{course_.token, std::move(row)});
}

void Telling::SayEvaluation(const Report& report, Said& said) {
  frames::Eval eval;
  eval.token = course_.token;
  eval.step = *report.step;
  eval.loss = std::nan("");
  for (const auto& [name, value] : report.numbers) {
    if (name == "val_loss") {
      eval.loss = value;
    } else if (name == "loss") {
      eval.train_loss = value;
    } else if (name == "hellaswag_acc") {
      eval.hellaswag_acc = value;
    } else if (name == "hellaswag_acc_norm") {
      eval.hellaswag_acc_norm = value;
    } else {
      eval.metrics[name] = value;
    }
  }
  said.frames.push_back(std::move(eval));
}

void Telling::SayProgress(absl::Duration now, Said& said) {
  if (!progress_due_ || now < progress_at_ + kProgressEvery) return;
  progress_due_ = false;
  progress_at_ = now;
  said.frames.push_back(frames::Progress{.token = course_.token, .step = step_, .share = share_});
}

bool Telling::Admit(absl::Duration now) {
  allowance_ = std::min<double>(
      limits::kProgramReportsBurst,
      allowance_ + limits::kProgramReportsPerSecond * absl::ToDoubleSeconds(now - allowance_at_));
  allowance_at_ = now;
  if (allowance_ < 1) return false;
  allowance_ -= 1;
  return true;
}

Telling::Said Telling::Tend(Instant now) {
  Said said;
  if (row_ && Admit(now.steady)) {
    SayRow(row_->report, row_->at, said);
    row_.reset();
  }
  if (evaluation_ && Admit(now.steady)) {
    SayEvaluation(evaluation_->report, said);
    evaluation_.reset();
  }
  SayProgress(now.steady, said);
  return said;
}

Telling::Said Telling::Finish(Instant now) {
  Said said;
  if (row_) SayRow(row_->report, row_->at, said);
  if (evaluation_) SayEvaluation(evaluation_->report, said);
  row_.reset();
  evaluation_.reset();
  progress_at_ = -absl::InfiniteDuration();
  SayProgress(now.steady, said);
  if (left_out_ > 0) {
    said.complaints.push_back(absl::StrCat(left_out_, " reports were left out, because more than ",
                                           limits::kProgramReportsPerSecond,
                                           " a second came; the newest were kept"));
  }
  return said;
}

absl::Duration Telling::NextDeadline() const {
  absl::Duration next = absl::InfiniteDuration();
  if (progress_due_) next = progress_at_ + kProgressEvery;
  if (!row_ && !evaluation_) return next;
  const double lacks = std::max(0.0, 1 - allowance_);
  return std::min(next, allowance_at_ + absl::Seconds(lacks / limits::kProgramReportsPerSecond) +
                            absl::Milliseconds(1));
}

void Telling::Complain(std::string_view line, const std::string& why, Said& said) {
  if (++complaints_ > kComplaintsMost) return;
  said.complaints.push_back(absl::StrCat("a reported line is left out: ", why, ": ",
                                         Printable(CleanText(line, kQuotedBytes))));
  if (complaints_ == kComplaintsMost) {
    said.complaints.push_back("of further lines like these nothing is told");
  }
}

}  // namespace dt::program
