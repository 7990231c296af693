// reports.cc: rows, evaluations, progress; dropped reports and errors.
#include "worker/program/reports.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/shares.h"
#include "common/text.h"

namespace dt::program {
namespace {

// Progress is only live state, for people to see.
constexpr absl::Duration kProgressEvery = absl::Milliseconds(200);
// More of the same step may follow: a program reports, computes and reports again. A report that a
// search uses waits only for lines that come at once.
constexpr absl::Duration kMergeSoon = absl::Milliseconds(100);
constexpr absl::Duration kMergeLate = absl::Seconds(5);
// A program with an error in each line must not fill its log with complaints.
constexpr int kComplaintsMost = 20;
constexpr size_t kQuotedBytes = 200;
// Names that are remembered: further names are not mentioned in the log.
constexpr size_t kNamesMost = 256;
constexpr size_t kNamesShown = 8;
// Reports without the metric after which a running trial gets a hint.
constexpr uint64_t kReportsBeforeHint = 20;
// Columns of a row that are values, not sums: an absent one is null rather than 0.
constexpr std::array<const char*, 3> kRowValues = {"loss", "learning_rate", "grad_norm"};

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

Reports::Reports(TrialInfo info, Instant now)
    : info_(std::move(info)),
      step_(info_.resumed_step),
      sent_row_at_(now.steady),
      with_metric_{limits::kProgramReportsBurst, now.steady},
      without_(with_metric_) {
  while (rung_ < info_.rungs.size() && info_.rungs[rung_] <= info_.resumed_step) ++rung_;
}

bool Reports::HasMetric(const Report& report) const {
  return info_.metric.empty() || report.numbers.contains(info_.metric);
}

std::optional<Reports::Waiting>& Reports::Slot(Kind kind) {
  return kind == Kind::kWithMetric ? evaluation_ : other_;
}

std::string Reports::Doubt(const Report& report, std::optional<uint64_t> newest) const {
  const uint64_t step = *report.step;
  if (info_.steps > 0 && step > info_.steps) {
    return absl::StrCat("step ", step, " is beyond the last, ", info_.steps,
                        "; raise `steps` of the experiment");
  }
  if (!newest && step < info_.resumed_step) {
    return absl::StrCat("step ", step, " comes after a resume from step ", info_.resumed_step,
                        ", so the program began again; let it load its checkpoint, and go on "
                        "after DTRAIN_RESUME_STEP");
  }
  if (newest && step < *newest) {
    return absl::StrCat("step ", step, " follows step ", *newest, "; steps do not go back");
  }
  return {};
}

// Returns whether a program that reports a known step has loaded a save a little older than its
// checkpoint. `keep` (python/dtrain/trial.py) copies a save some seconds later, as a checkpoint of
// the step reported by then. A program that is still in the first half has begun again.
bool Reports::CatchesUp(uint64_t step, std::optional<uint64_t> newest) const {
  return !newest && step > info_.resumed_step / 2;
}

// Objects if a line counts by another word: epochs among steps would go backwards.
std::string Reports::DoubtAboutWord(const Report& report) {
  if (step_word_.empty()) step_word_ = report.step_word;
  if (step_word_ == report.step_word) return {};
  return absl::StrCat("it is counted by ", report.step_word, ", and the lines before it by ",
                      step_word_, "; give step in each");
}

Reports::Outgoing Reports::Take(std::string_view line, Instant now) {
  Outgoing out;
  auto read = ReadReport(line, info_.metric);
  if (const auto* wrong = std::get_if<WrongLine>(&read)) {
    Complain(line, wrong->why, out);
    return out;
  }
  const Report& report = std::get<Report>(read);
  TakeFlaws(line, report, out);
  if (report.progress) {
    share_ = report.progress;
    progress_due_ = true;
  }
  if (!report.numbers.empty()) TakeNumbers(line, report, now, out);
  if (report.checkpoint) {
    Report saved = report;
    if (!saved.step) saved.step = step_;
    const uint64_t before = saved_step_.value_or(info_.resumed_step);
    std::string doubt = Doubt(saved, saved_step_);
    if (doubt.empty() && *saved.step <= before) {
      doubt = absl::StrCat("a checkpoint of step ", *saved.step, " follows that of step ", before,
                           "; give each a step of its own");
    }
    if (!report.step && *saved.step <= before) {
      // The program saved again, or before its first step. A later save will do.
      if (!std::exchange(logged_early_save_, true)) {
        out.complaints.push_back(absl::StrCat("a checkpoint is left out: no step above ", before,
                                              " is reported yet; only this line says so"));
      }
    } else if (doubt.empty()) {
      Release(Kind::kWithMetric, now, out);  // its value comes before its checkpoint
      TakeSaved(saved, out);
    } else {
      Complain(line, doubt, out);
    }
  } else if (report.step && report.numbers.empty() && *report.step > step_ &&
             (info_.steps == 0 || *report.step <= info_.steps) &&
             (step_word_.empty() || step_word_ == report.step_word)) {
    step_ = *report.step;
    progress_due_ = true;
  }
  SayProgress(now.steady, out);
  return out;
}

void Reports::TakeFlaws(std::string_view line, const Report& report, Outgoing& out) {
  for (const Flaw& flaw : report.flaws) {
    if (flawed_.size() >= kNamesMost || !flawed_.insert(flaw.name).second) continue;
    const std::string what =
        absl::StrCat("'", flaw.name, "' is left out of its reports: ", flaw.why);
    if (first_flaw_.empty()) first_flaw_ = what;
    if (++complaints_ > kComplaintsMost) continue;
    const std::string quoted = Printable(CleanText(line, kQuotedBytes));
    out.complaints.push_back(
        absl::StrCat(what, quoted.empty() ? "" : "; the first such line: ", quoted));
  }
}

void Reports::TakeNumbers(std::string_view line, Report report, Instant now, Outgoing& out) {
  // The search's metric is an evaluation, whatever its name.
  const bool row = IsRow(report) && !IsRowColumn(info_.metric);
  const std::optional<uint64_t> newest = row ? row_step_ : evaluation_step_;
  std::string doubt = DoubtAboutWord(report);
  const bool is_known =
      row ? *report.step <= info_.resumed_step : *report.step < info_.resumed_step;
  if (doubt.empty() && is_known && CatchesUp(*report.step, newest)) {
    if (!std::exchange(logged_catching_up_, true)) {
      out.complaints.push_back(absl::StrCat(
          "the program goes on from step ", *report.step, ", and its trial from step ",
          info_.resumed_step, "; what it reports until then is left out; only this line says so"));
    }
    return;
  }
  if (doubt.empty()) doubt = Doubt(report, newest);
  if (!doubt.empty()) return Complain(line, doubt, out);
  Remember(report);
  const uint64_t step = *report.step;
  if (row) {
    TakeRow(report, now, out);
  } else {
    TakeEvaluation(std::move(report), now, out);
  }
  step_ = std::max(step_, step);
  progress_due_ = true;
}

void Reports::Remember(const Report& report) {
  ++reports_;
  if (!info_.metric.empty() && HasMetric(report)) {
    got_metric_ = true;
    got_number_ = got_number_ || std::isfinite(report.numbers.at(info_.metric));
  }
  for (const auto& number : report.numbers) {
    if (names_.size() < kNamesMost) names_.insert(number.first);
  }
}

// The later of two values for a name counts.
void Reports::Merge(const Report& more, Report& into, Outgoing& out) {
  Report over;
  for (const auto& [name, value] : more.numbers) {
    const bool fits = into.numbers.size() < limits::kMetrics || into.numbers.contains(name);
    if (fits || name == info_.metric) {
      into.numbers[name] = value;
    } else {
      over.flaws.push_back({name, absl::StrCat("its step has more than ", limits::kMetrics,
                                               " numbers; report fewer")});
    }
  }
  TakeFlaws({}, over, out);
}

void Reports::Displace(std::optional<Waiting>& waiting) {
  if (!waiting) return;
  ++left_out_;
  waiting.reset();
}

void Reports::TakeRow(const Report& report, Instant now, Outgoing& out) {
  if (row_ && row_->report.step == report.step) return Merge(report, row_->report, out);
  if (sent_row_step_ && *report.step <= *sent_row_step_) {
    // Its row was already sent, perhaps with an evaluation.
    row_step_ = report.step;
    if (evaluation_step_.value_or(0) <= *report.step) TakeEvaluation(report, now, out);
    return;
  }
  ReleaseRow(now, out);
  Displace(row_);
  row_step_ = report.step;
  row_ = Waiting{report, now, now.steady + kMergeSoon};
}

void Reports::TakeEvaluation(Report report, Instant now, Outgoing& out) {
  Waiting next{{}, now, now.steady + kMergeLate};
  bool counted = false;  // whether a search awaits it is known
  if (evaluation_step_ != report.step) sent_names_.clear();
  const bool waits = (evaluation_ && evaluation_->report.step == report.step) ||
                     (other_ && other_->report.step == report.step);
  if (!waits && std::erase_if(report.numbers, [this](const auto& number) {
                  return sent_names_.contains(number.first);
                }) > 0) {
    // Such as a last validation after the training. The hint is for faults.
    if (!std::exchange(logged_repeat_, true)) {
      out.complaints.push_back(absl::StrCat("what it reports again of step ", *report.step,
                                            " is left out; only this line says so"));
    }
    if (report.numbers.empty()) return;
  }
  if (evaluation_step_ != report.step) {
    validated_loss_.reset();
    measured_.reset();
  }
  evaluation_step_ = report.step;
  const auto loss = report.numbers.find("val_loss");
  if (loss != report.numbers.end() && !std::isnan(loss->second)) validated_loss_ = loss->second;
  const auto metric = report.numbers.find(info_.metric);
  if (metric != report.numbers.end() && !std::isnan(metric->second)) measured_ = metric->second;
  for (std::optional<Waiting>* slot : {&evaluation_, &other_}) {
    if (!*slot || (*slot)->report.step != report.step) continue;
    Merge(report, (*slot)->report, out);
    counted = slot == &evaluation_;
    next = *std::move(*slot);
    report = std::move(next.report);
    slot->reset();
  }
  const Kind kind = HasMetric(report) ? Kind::kWithMetric : Kind::kWithout;
  Release(kind, now, out);
  Displace(Slot(kind));
  if (kind == Kind::kWithMetric && !counted) {
    next.due = now.steady + kMergeSoon;
    next.awaited = IsAwaited(*report.step);
  }
  next.report = std::move(report);
  Slot(kind) = std::move(next);
}

// A search compares at the first evaluation at or after a rung's step.
bool Reports::IsAwaited(uint64_t step) {
  const size_t before = rung_;
  while (rung_ < info_.rungs.size() && info_.rungs[rung_] <= step) ++rung_;
  return rung_ > before;
}

void Reports::TakeSaved(const Report& report, Outgoing& out) {
  saved_step_ = report.step;
  SavedFolder saved{*report.checkpoint, *report.step, std::nullopt, std::nullopt};
  if (evaluation_step_ == report.step) {
    saved.loss = validated_loss_;
    saved.metric = measured_;
  }
  out.saved = std::move(saved);
  step_ = std::max(step_, *report.step);
  progress_due_ = true;
}

void Reports::Release(Kind kind, Instant now, Outgoing& out) {
  std::optional<Waiting>& waiting = Slot(kind);
  if (!waiting || (!Admit(kind, now.steady) && !waiting->awaited)) return;
  // Steps must not fall.
  const Kind before = kind == Kind::kWithMetric ? Kind::kWithout : Kind::kWithMetric;
  if (std::optional<Waiting>& first = Slot(before);
      first && first->report.step < waiting->report.step) {
    if (before == Kind::kWithMetric || Admit(before, now.steady)) {
      SayEvaluation(*first, out);
      first.reset();
    }
    Displace(first);
  }
  SayEvaluation(*waiting, out);
  waiting.reset();
}

void Reports::ReleaseRow(Instant now, Outgoing& out) {
  if (!row_ || !Admit(Kind::kWithout, now.steady)) return;
  SayRow(row_->report, row_->at, out);
  row_.reset();
}

void Reports::SayRow(const Report& report, Instant at, Outgoing& out) {
  const uint64_t before = sent_row_step_.value_or(info_.resumed_step);
  // A program that counts from 0 has done a step at 0.
  const uint64_t steps = *report.step == 0 ? 1 : *report.step - before;
  nlohmann::json row = {{"step", *report.step},
                        {"steps", static_cast<double>(steps)},
                        {"seconds", absl::ToDoubleSeconds(at.steady - sent_row_at_)},
                        {"wall_time_ms", at.wall_ms}};
  for (const char* name : kRowValues) row[name] = nullptr;
  for (const auto& [name, value] : report.numbers) row[name] = value;
  sent_row_step_ = *report.step;
  sent_row_at_ = at.steady;
  out.frames.push_back(frames::StepDone{info_.token, std::move(row)});
}

// Curves and the newest loss are made from rows. A program that reports no rows, because its loss
// always comes beside other numbers or is the metric, gets them from its evaluations.
void Reports::SayRowOf(const Report& evaluation, Instant at, Outgoing& out) {
  const uint64_t step = *evaluation.step;
  const bool later =
      sent_row_step_ ? step > *sent_row_step_ : step > info_.resumed_step || step == 0;
  if (!later) return;
  if (IsRow(evaluation)) {
    if (IsRowColumn(info_.metric)) SayRow(evaluation, at, out);
    return;
  }
  if (row_step_ || !evaluation.numbers.contains("loss")) return;
  // Sums such as `seconds` may mean something else beside other numbers.
  Report row;
  row.step = step;
  for (const char* name : kRowValues) {
    const auto found = evaluation.numbers.find(name);
    if (found != evaluation.numbers.end()) row.numbers.insert(*found);
  }
  SayRow(row, at, out);
}

void Reports::SayEvaluation(const Waiting& waiting, Outgoing& out) {
  const Report& report = waiting.report;
  frames::Eval eval;
  eval.token = info_.token;
  eval.step = *report.step;
  eval.loss = std::nan("");
  for (const auto& [name, value] : report.numbers) {
    if (report.step == evaluation_step_) sent_names_.insert(name);
    if (name == "val_loss" && !std::isnan(value)) {
      eval.loss = value;
    } else if (name == "loss") {
      eval.train_loss = value;
    } else if (name == "hellaswag_acc") {
      eval.hellaswag_acc = value;
    } else if (name == "hellaswag_acc_norm") {
      eval.hellaswag_acc_norm = value;
    } else {
      eval.metrics[name] = value;  // also val_loss: it was reported, but is no number
    }
  }
  for (auto last = eval.metrics.end(); eval.metrics.size() > limits::kMetrics;) {
    if (--last; last->first != info_.metric) last = eval.metrics.erase(last);
  }
  SayRowOf(report, waiting.at, out);
  out.frames.push_back(std::move(eval));
}

void Reports::SayProgress(absl::Duration now, Outgoing& out) {
  if (!progress_due_ || now < progress_at_ + kProgressEvery) return;
  progress_due_ = false;
  progress_at_ = now;
  out.frames.push_back(frames::Progress{.token = info_.token, .step = step_, .share = share_});
}

bool Reports::Admit(Kind kind, absl::Duration now) {
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

Reports::Outgoing Reports::Tend(Instant now) {
  Outgoing out;
  if (row_ && row_->due <= now.steady) ReleaseRow(now, out);
  for (const Kind kind : {Kind::kWithMetric, Kind::kWithout}) {
    if (Slot(kind) && Slot(kind)->due <= now.steady) Release(kind, now, out);
  }
  SayProgress(now.steady, out);
  return out;
}

Reports::Outgoing Reports::Finish(Instant now) {
  Outgoing out;
  if (row_) SayRow(row_->report, row_->at, out);
  const bool other_first = other_ && evaluation_ && other_->report.step < evaluation_->report.step;
  for (std::optional<Waiting>* slot :
       {other_first ? &other_ : &evaluation_, other_first ? &evaluation_ : &other_}) {
    if (*slot) SayEvaluation(**slot, out);
    slot->reset();
  }
  row_.reset();
  progress_at_ = -absl::InfiniteDuration();
  SayProgress(now.steady, out);
  if (left_out_ > 0) {
    out.complaints.push_back(absl::StrCat(left_out_, " reports were left out, because more than ",
                                          limits::kProgramReportsPerSecond,
                                          " a second came; the newest were kept"));
  }
  return out;
}

absl::Duration Reports::NextDeadline() const {
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

std::string Reports::Hint(When when, const std::optional<NearMiss>& near,
                          std::string_view missing) const {
  const bool ended = when == When::kEnded;
  // If this attempt resumed from a checkpoint, an earlier one may have made the reports.
  const bool goes_on = info_.resumed_step > 0;
  std::string hint;
  if (reports_ == 0 && !goes_on) {
    if (!ended && !near && first_wrong_.empty()) return "";
    hint = ended ? "it reported nothing" : "it has reported nothing yet";
  } else if (!info_.metric.empty() && !got_metric_ && !goes_on) {
    if (!ended && reports_ < kReportsBeforeHint) return first_flaw_;
    std::string names;
    size_t shown = 0;
    for (const std::string& name : names_) {
      if (++shown > kNamesShown) break;
      absl::StrAppend(&names, shown > 1 ? ", " : "", name);
    }
    hint = absl::StrCat(ended ? "it never reported " : "it has not reported ", info_.metric,
                        ended ? "" : " yet", ", by which trials are compared; it reported ", names,
                        names_.size() > kNamesShown ? ", …" : "");
  } else if (!info_.metric.empty() && !got_number_ && !goes_on) {
    hint = absl::StrCat("each ", info_.metric, ended ? " that it reported" : " so far",
                        " is NaN or infinite, which counts as the worst");
  } else {
    if (!first_flaw_.empty()) return CleanText(first_flaw_, limits::kHintBytes);
    if (first_wrong_.empty()) return "";
    return CleanText(absl::StrCat("a report was left out: ", first_wrong_), limits::kHintBytes);
  }
  if (!missing.empty()) absl::StrAppend(&hint, "; ", std::string(missing));
  if (!first_wrong_.empty()) {
    absl::StrAppend(&hint, "; a line was left out: ", first_wrong_);
  } else if (near) {
    absl::StrAppend(&hint, "; nearly a report was \"", near->line, "\": ", near->why);
  } else if (reports_ == 0 && missing.empty()) {
    absl::StrAppend(&hint, "; to show and compare trials, print lines such as {\"step\": 1, \"",
                    info_.metric.empty() ? "val_loss" : info_.metric, "\": 0.5}");
  }
  return CleanText(hint, limits::kHintBytes);
}

void Reports::Complain(std::string_view line, const std::string& why, Outgoing& out) {
  const std::string quoted = Printable(CleanText(line, kQuotedBytes));
  const std::string what = absl::StrCat(why, quoted.empty() ? "" : ": ", quoted);
  if (first_wrong_.empty()) first_wrong_ = what;
  if (++complaints_ > kComplaintsMost) return;
  out.complaints.push_back(absl::StrCat("a reported line is left out: ", what));
  if (complaints_ == kComplaintsMost) {
    out.complaints.push_back("further lines like these are left out without a word here");
  }
}

}  // namespace dt::program
