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
// More of the same step may follow: a program reports what it has, computes and reports again. What
// a search goes by waits for lines that come at once, and no longer.
constexpr absl::Duration kMergeSoon = absl::Milliseconds(100);
constexpr absl::Duration kMergeLate = absl::Seconds(5);
// A program that errs in each line is not to fill its log with that.
constexpr int kComplaintsMost = 20;
constexpr size_t kQuotedBytes = 200;
// Names that are remembered: what more a program makes up is told in its log no more.
constexpr size_t kNamesMost = 256;
constexpr size_t kNamesTold = 8;
// Reports without the metric, while it runs, until a person is told.
constexpr uint64_t kReportsBeforeHint = 20;

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
      told_row_at_(now.steady),
      with_metric_{limits::kProgramReportsBurst, now.steady},
      without_(with_metric_) {
  while (rung_ < course_.rungs.size() && course_.rungs[rung_] <= course_.resumed_step) ++rung_;
}

bool Telling::HasMetric(const Report& report) const {
  return course_.metric.empty() || report.numbers.contains(course_.metric);
}

std::optional<Telling::Waiting>& Telling::Slot(Kind kind) {
  return kind == Kind::kWithMetric ? evaluation_ : other_;
}

std::string Telling::Doubt(const Report& report, std::optional<uint64_t> newest) const {
  const uint64_t step = *report.step;
  if (course_.steps > 0 && step > course_.steps) {
    return absl::StrCat("step ", step, " is beyond the last, ", course_.steps,
                        "; raise `steps` of the experiment");
  }
  const uint64_t before = newest.value_or(course_.resumed_step);
  if (step < before) {
    return absl::StrCat("step ", step, " follows step ", before,
                        "; steps do not go back, and a program that resumes goes on after "
                        "DTRAIN_RESUME_STEP");
  }
  return {};
}

// Epochs among steps would go back.
std::string Telling::DoubtAboutWord(const Report& report) {
  if (step_word_.empty()) step_word_ = report.step_word;
  if (step_word_ == report.step_word) return {};
  return absl::StrCat("it is counted by ", report.step_word, ", and the lines before it by ",
                      step_word_, "; give step in each");
}

Telling::Said Telling::Take(std::string_view line, Instant now) {
  Said said;
  auto read = ReadReport(line, course_.metric);
  if (const auto* wrong = std::get_if<WrongLine>(&read)) {
    Complain(line, wrong->why, said);
    return said;
  }
  const Report& report = std::get<Report>(read);
  TakeFlaws(line, report, said);
  if (report.progress) {
    share_ = report.progress;
    progress_due_ = true;
  }
  if (!report.numbers.empty()) TakeNumbers(line, report, now, said);
  if (report.checkpoint) {
    Report saved = report;
    if (!saved.step) saved.step = step_;
    std::string doubt = Doubt(saved, saved_step_);
    if (doubt.empty() && *saved.step <= saved_step_.value_or(course_.resumed_step)) {
      doubt =
          absl::StrCat("a checkpoint of step ", *saved.step, " follows that of step ",
                       saved_step_.value_or(course_.resumed_step), "; give each a step of its own");
    }
    if (doubt.empty()) {
      Release(Kind::kWithMetric, now, said);  // its value comes before its checkpoint
      TakeSaved(saved, said);
    } else {
      Complain(line, doubt, said);
    }
  } else if (report.step && report.numbers.empty() && *report.step > step_ &&
             (course_.steps == 0 || *report.step <= course_.steps) &&
             (step_word_.empty() || step_word_ == report.step_word)) {
    step_ = *report.step;
    progress_due_ = true;
  }
  SayProgress(now.steady, said);
  return said;
}

void Telling::TakeFlaws(std::string_view line, const Report& report, Said& said) {
  for (const Flaw& flaw : report.flaws) {
    if (flawed_.size() >= kNamesMost || !flawed_.insert(flaw.name).second) continue;
    const std::string what =
        absl::StrCat("'", flaw.name, "' is left out of its reports: ", flaw.why);
    if (first_flaw_.empty()) first_flaw_ = what;
    if (++complaints_ > kComplaintsMost) continue;
    const std::string quoted = Printable(CleanText(line, kQuotedBytes));
    said.complaints.push_back(
        absl::StrCat(what, quoted.empty() ? "" : "; the first such line: ", quoted));
  }
}

void Telling::TakeNumbers(std::string_view line, Report report, Instant now, Said& said) {
  // What a search goes by is an evaluation, whatever its name.
  const bool row = IsRow(report) && !IsRowColumn(course_.metric);
  std::string doubt = DoubtAboutWord(report);
  if (doubt.empty()) doubt = Doubt(report, row ? row_step_ : evaluation_step_);
  const bool repeats = row && !row_step_ && course_.resumed_step > 0;
  if (doubt.empty() && repeats && *report.step == course_.resumed_step) {
    doubt = absl::StrCat("step ", *report.step,
                         " was told before; a program that resumes goes on "
                         "after DTRAIN_RESUME_STEP");
  }
  if (!doubt.empty()) return Complain(line, doubt, said);
  Remember(report);
  const uint64_t step = *report.step;
  if (row) {
    TakeRow(report, now, said);
  } else {
    TakeEvaluation(line, std::move(report), now, said);
  }
  step_ = std::max(step_, step);
  progress_due_ = true;
}

void Telling::Remember(const Report& report) {
  ++reports_;
  if (!course_.metric.empty() && HasMetric(report)) {
    told_metric_ = true;
    told_number_ = told_number_ || std::isfinite(report.numbers.at(course_.metric));
  }
  for (const auto& number : report.numbers) {
    if (names_.size() < kNamesMost) names_.insert(number.first);
  }
}

// The later value of a name is meant.
void Telling::Merge(const Report& more, Report& into, Said& said) {
  Report over;
  for (const auto& [name, value] : more.numbers) {
    const bool fits = into.numbers.size() < limits::kMetrics || into.numbers.contains(name);
    if (fits || name == course_.metric) {
      into.numbers[name] = value;
    } else {
      over.flaws.push_back({name, absl::StrCat("its step has more than ", limits::kMetrics,
                                               " numbers; report fewer")});
    }
  }
  TakeFlaws({}, over, said);
}

void Telling::Displace(std::optional<Waiting>& waiting) {
  if (!waiting) return;
  ++left_out_;
  waiting.reset();
}

void Telling::TakeRow(const Report& report, Instant now, Said& said) {
  if (row_ && row_->report.step == report.step) return Merge(report, row_->report, said);
  if (told_row_step_ == report.step && row_step_ == report.step) {
    // Its row has gone.
    if (evaluation_step_.value_or(0) <= *report.step) TakeEvaluation({}, report, now, said);
    return;
  }
  ReleaseRow(now, said);
  Displace(row_);
  row_step_ = report.step;
  row_ = Waiting{report, now, now.steady + kMergeSoon};
}

void Telling::TakeEvaluation(std::string_view line, Report report, Instant now, Said& said) {
  Waiting next{{}, now, now.steady + kMergeLate};
  bool counted = false;  // whether a search awaits it is known
  if (evaluation_step_ != report.step) told_.clear();
  const bool waits = (evaluation_ && evaluation_->report.step == report.step) ||
                     (other_ && other_->report.step == report.step);
  if (!waits && std::erase_if(report.numbers, [this](const auto& number) {
                  return told_.contains(number.first);
                }) > 0) {
    Complain(line, absl::StrCat("what it says again of step ", *report.step, " was told before"),
             said);
    if (report.numbers.empty()) return;
  }
  if (evaluation_step_ != report.step) {
    validated_loss_.reset();
    measured_.reset();
  }
  evaluation_step_ = report.step;
  const auto loss = report.numbers.find("val_loss");
  if (loss != report.numbers.end() && !std::isnan(loss->second)) validated_loss_ = loss->second;
  const auto metric = report.numbers.find(course_.metric);
  if (metric != report.numbers.end() && !std::isnan(metric->second)) measured_ = metric->second;
  for (std::optional<Waiting>* slot : {&evaluation_, &other_}) {
    if (!*slot || (*slot)->report.step != report.step) continue;
    Merge(report, (*slot)->report, said);
    counted = slot == &evaluation_;
    next = *std::move(*slot);
    report = std::move(next.report);
    slot->reset();
  }
  const Kind kind = HasMetric(report) ? Kind::kWithMetric : Kind::kWithout;
  Release(kind, now, said);
  Displace(Slot(kind));
  if (kind == Kind::kWithMetric && !counted) {
    next.due = now.steady + kMergeSoon;
    next.awaited = IsAwaited(*report.step);
  }
  next.report = std::move(report);
  Slot(kind) = std::move(next);
}

// A search compares at the first evaluation at or beyond a rung's step.
bool Telling::IsAwaited(uint64_t step) {
  const size_t before = rung_;
  while (rung_ < course_.rungs.size() && course_.rungs[rung_] <= step) ++rung_;
  return rung_ > before;
}

void Telling::TakeSaved(const Report& report, Said& said) {
  saved_step_ = report.step;
  SavedFolder saved{*report.checkpoint, *report.step, std::nullopt, std::nullopt};
  if (evaluation_step_ == report.step) {
    saved.loss = validated_loss_;
    saved.metric = measured_;
  }
  said.saved = std::move(saved);
  step_ = std::max(step_, *report.step);
  progress_due_ = true;
}

void Telling::Release(Kind kind, Instant now, Said& said) {
  std::optional<Waiting>& waiting = Slot(kind);
  if (!waiting || (!Admit(kind, now.steady) && !waiting->awaited)) return;
  // Steps do not fall.
  const Kind before = kind == Kind::kWithMetric ? Kind::kWithout : Kind::kWithMetric;
  if (std::optional<Waiting>& first = Slot(before);
      first && first->report.step < waiting->report.step) {
    if (before == Kind::kWithMetric || Admit(before, now.steady)) {
      SayEvaluation(*first, said);
      first.reset();
    }
    Displace(first);
  }
  SayEvaluation(*waiting, said);
  waiting.reset();
}

void Telling::ReleaseRow(Instant now, Said& said) {
  if (!row_ || !Admit(Kind::kWithout, now.steady)) return;
  SayRow(row_->report, row_->at, said);
  row_.reset();
}

void Telling::SayRow(const Report& report, Instant at, Said& said) {
  const uint64_t before = told_row_step_.value_or(course_.resumed_step);
  // Who counts from 0 has done a step there.
  const uint64_t steps = *report.step == 0 ? 1 : *report.step - before;
  nlohmann::json row = {{"step", *report.step},
                        {"steps", static_cast<double>(steps)},
                        {"seconds", absl::ToDoubleSeconds(at.steady - told_row_at_)},
                        {"wall_time_ms", at.wall_ms}};
  // These are values, not sums: what was not said is no number rather than 0.
  for (const char* name : {"loss", "learning_rate", "grad_norm"}) row[name] = nullptr;
  for (const auto& [name, value] : report.numbers) row[name] = value;
  told_row_step_ = *report.step;
  told_row_at_ = at.steady;
  said.frames.push_back(frames::StepDone{course_.token, std::move(row)});
}

void Telling::SayEvaluation(const Waiting& waiting, Said& said) {
  const Report& report = waiting.report;
  frames::Eval eval;
  eval.token = course_.token;
  eval.step = *report.step;
  eval.loss = std::nan("");
  for (const auto& [name, value] : report.numbers) {
    if (report.step == evaluation_step_) told_.insert(name);
    if (name == "val_loss" && !std::isnan(value)) {
      eval.loss = value;
    } else if (name == "loss") {
      eval.train_loss = value;
    } else if (name == "hellaswag_acc") {
      eval.hellaswag_acc = value;
    } else if (name == "hellaswag_acc_norm") {
      eval.hellaswag_acc_norm = value;
    } else {
      eval.metrics[name] = value;  // also val_loss: that it was said, and no number
    }
  }
  for (auto last = eval.metrics.end(); eval.metrics.size() > limits::kMetrics;) {
    if (--last; last->first != course_.metric) last = eval.metrics.erase(last);
  }
  // Curves and the newest loss are made of rows.
  const bool row = IsRow(report) && IsRowColumn(course_.metric) &&
                   (!told_row_step_ ? *report.step > course_.resumed_step || *report.step == 0
                                    : *report.step > *told_row_step_);
  if (row) SayRow(report, waiting.at, said);
  said.frames.push_back(std::move(eval));
}

void Telling::SayProgress(absl::Duration now, Said& said) {
  if (!progress_due_ || now < progress_at_ + kProgressEvery) return;
  progress_due_ = false;
  progress_at_ = now;
  said.frames.push_back(frames::Progress{.token = course_.token, .step = step_, .share = share_});
}

bool Telling::Admit(Kind kind, absl::Duration now) {
  Allowance& allowance = kind == Kind::kWithMetric ? with_metric_ : without_;
  allowance.reports =
      std::min<double>(limits::kProgramReportsBurst,
                       allowance.reports + limits::kProgramReportsPerSecond *
                                               absl::ToDoubleSeconds(now - allowance.at));
  allowance.at = now;
  if (allowance.reports < 1) return false;
  allowance.reports -= 1;
  return true;
}

Telling::Said Telling::Tend(Instant now) {
  Said said;
  if (row_ && row_->due <= now.steady) ReleaseRow(now, said);
  for (const Kind kind : {Kind::kWithMetric, Kind::kWithout}) {
    if (Slot(kind) && Slot(kind)->due <= now.steady) Release(kind, now, said);
  }
  SayProgress(now.steady, said);
  return said;
}

Telling::Said Telling::Finish(Instant now) {
  Said said;
  if (row_) SayRow(row_->report, row_->at, said);
  const bool other_first = other_ && evaluation_ && other_->report.step < evaluation_->report.step;
  for (std::optional<Waiting>* slot :
       {other_first ? &other_ : &evaluation_, other_first ? &evaluation_ : &other_}) {
    if (*slot) SayEvaluation(**slot, said);
    slot->reset();
  }
  row_.reset();
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
  const auto consider = [&next](const std::optional<Waiting>& waiting, const Allowance& allowance) {
    if (!waiting) return;
    const double lacks = waiting->awaited ? 0 : std::max(0.0, 1 - allowance.reports);
    const absl::Duration allowed = allowance.at +
                                   absl::Seconds(lacks / limits::kProgramReportsPerSecond) +
                                   absl::Milliseconds(1);
    next = std::min(next, std::max(waiting->due, lacks > 0 ? allowed : waiting->due));
  };
  consider(row_, without_);
  consider(other_, without_);
  consider(evaluation_, with_metric_);
  return next;
}

std::string Telling::Hint(When when, const std::optional<NearMiss>& near) const {
  const bool ended = when == When::kEnded;
  // An attempt before one that goes on from a checkpoint may have reported all.
  const bool goes_on = course_.resumed_step > 0;
  std::string hint;
  if (reports_ == 0 && !goes_on) {
    if (!ended && !near && first_wrong_.empty()) return "";
    hint = ended ? "it reported nothing" : "it has reported nothing yet";
  } else if (!course_.metric.empty() && !told_metric_ && !goes_on) {
    if (!ended && reports_ < kReportsBeforeHint) return first_flaw_;
    std::string names;
    size_t told = 0;
    for (const std::string& name : names_) {
      if (++told > kNamesTold) break;
      absl::StrAppend(&names, told > 1 ? ", " : "", name);
    }
    hint = absl::StrCat(ended ? "it never reported " : "it has not reported ", course_.metric,
                        ended ? "" : " yet", ", by which trials are compared; it reported ", names,
                        names_.size() > kNamesTold ? ", …" : "");
  } else if (!course_.metric.empty() && !told_number_ && !goes_on) {
    hint = absl::StrCat("each ", course_.metric, ended ? " that it reported" : " so far",
                        " is NaN or infinite, which counts as the worst");
  } else {
    if (!first_flaw_.empty()) return CleanText(first_flaw_, limits::kHintBytes);
    if (first_wrong_.empty()) return "";
    return CleanText(absl::StrCat("a report was left out: ", first_wrong_), limits::kHintBytes);
  }
  if (!first_wrong_.empty()) {
    absl::StrAppend(&hint, "; a line was left out: ", first_wrong_);
  } else if (near) {
    absl::StrAppend(&hint, "; nearly a report was \"", near->line, "\": ", near->why);
  } else if (reports_ == 0) {
    absl::StrAppend(&hint, "; to show and compare trials, print lines such as {\"step\": 1, \"",
                    course_.metric.empty() ? "val_loss" : course_.metric, "\": 0.5}");
  }
  return CleanText(hint, limits::kHintBytes);
}

void Telling::Complain(std::string_view line, const std::string& why, Said& said) {
  const std::string quoted = Printable(CleanText(line, kQuotedBytes));
  const std::string what = absl::StrCat(why, quoted.empty() ? "" : ": ", quoted);
  if (first_wrong_.empty()) first_wrong_ = what;
  if (++complaints_ > kComplaintsMost) return;
  said.complaints.push_back(absl::StrCat("a reported line is left out: ", what));
  if (complaints_ == kComplaintsMost) {
    said.complaints.push_back("of further lines like these nothing is told");
  }
}

}  // namespace dt::program
