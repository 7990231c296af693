#include "cli/view/summary.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "cli/view/format.h"
#include "cli/view/json.h"
#include "common/free_name.h"
#include "spec/spec.h"

namespace dt::cli {
namespace {

Style StyleOf(v1::TrialState state) {
  switch (state) {
    case v1::TRIAL_STARTING:
    case v1::TRIAL_RUNNING:
      return Style::kBusy;
    case v1::TRIAL_STOPPING:
    case v1::TRIAL_CANCELLED:
      return Style::kWarn;
    case v1::TRIAL_FINISHED:
      return Style::kGood;
    case v1::TRIAL_FAILED:
      return Style::kBad;
    case v1::TRIAL_PENDING:
    case v1::TRIAL_STATE_UNSPECIFIED:
    case v1::TrialState_INT_MIN_SENTINEL_DO_NOT_USE_:
    case v1::TrialState_INT_MAX_SENTINEL_DO_NOT_USE_:
      return Style::kDim;
  }
  return Style::kPlain;
}

Style StyleOf(v1::ExperimentState state) {
  switch (state) {
    case v1::EXPERIMENT_RUNNING:
      return Style::kBusy;
    case v1::EXPERIMENT_FINISHED:
      return Style::kGood;
    case v1::EXPERIMENT_FAILED:
      return Style::kBad;
    case v1::EXPERIMENT_CANCELLED:
      return Style::kWarn;
    case v1::EXPERIMENT_QUEUED:
    case v1::EXPERIMENT_STATE_UNSPECIFIED:
    case v1::ExperimentState_INT_MIN_SENTINEL_DO_NOT_USE_:
    case v1::ExperimentState_INT_MAX_SENTINEL_DO_NOT_USE_:
      return Style::kDim;
  }
  return Style::kPlain;
}

constexpr int kLeaveOutLast = 1000;

std::string LastPart(const std::string& path) { return path.substr(path.rfind('.') + 1); }

}  // namespace

bool Ended(v1::TrialState state) {
  return state == v1::TRIAL_FINISHED || state == v1::TRIAL_FAILED || state == v1::TRIAL_CANCELLED;
}

bool Ended(v1::ExperimentState state) {
  return state == v1::EXPERIMENT_FINISHED || state == v1::EXPERIMENT_FAILED ||
         state == v1::EXPERIMENT_CANCELLED;
}

Cell StateCell(const v1::TrialSummary& trial) {
  std::string text = Word(trial.state());
  const std::string cause = Word(trial.cause());
  if (trial.state() == v1::TRIAL_FAILED && !cause.empty()) absl::StrAppend(&text, ": ", cause);
  if (StoppedEarly(trial)) {
    return {"stopped early", Style::kDim};
  }
  return {text.empty() ? kNone : text, StyleOf(trial.state())};
}

Cell StateCell(v1::ExperimentState state) {
  const std::string word = Word(state);
  return {word.empty() ? kNone : word, StyleOf(state)};
}

Cell StateCell(const v1::ExperimentSummary& experiment) {
  if (experiment.paused() && !Ended(experiment.state())) return {"paused", Style::kWarn};
  return StateCell(experiment.state());
}

uint32_t TrialsInAll(const v1::ExperimentSummary& experiment) {
  const bool more = experiment.search_end().empty() && !Ended(experiment.state());
  return more ? std::max(experiment.trials(), experiment.planned_trials()) : experiment.trials();
}

std::string ToComeText(const v1::ExperimentSummary& experiment) {
  const uint32_t all = TrialsInAll(experiment);
  if (all <= experiment.trials()) return "";
  return absl::StrCat("up to ", Plural(all - experiment.trials(), "trial"),
                      ", each proposed when it has slots");
}

std::string FailedText(const v1::ExperimentSummary& experiment) {
  std::string text = absl::StrCat(FormatCount(experiment.failed()), " failed");
  if (experiment.oom() == 0) return text;
  if (experiment.oom() == experiment.failed()) return text + ": oom";
  return absl::StrCat(text, ", ", FormatCount(experiment.oom()), " of them oom");
}

std::string Bar(double ratio, int width, Glyphs glyphs) {
  const double clamped = std::isfinite(ratio) ? std::clamp(ratio, 0.0, 1.0) : 0.0;
  std::string bar;
  if (glyphs == Glyphs::kAscii) {
    const int full = static_cast<int>(clamped * width);
    return std::string(full, '#') + std::string(width - full, '.');
  }
  static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(clamped * width * 8);
  for (int i = 0; i < eighths / 8; ++i) bar += "█";
  bar += kEighths[eighths % 8];
  const int used = eighths / 8 + (eighths % 8 != 0 ? 1 : 0);
  for (int i = used; i < width; ++i) bar += "░";
  return bar;
}

double Progress(const v1::TrialSummary& trial) {
  if (trial.state() == v1::TRIAL_FINISHED && trial.cause() != v1::CAUSE_STOPPED_EARLY) return 1;
  if (trial.progress() > 0) return trial.progress();  // as its program tells it
  if (trial.target_steps() == 0) return 0;
  return std::min(1.0, static_cast<double>(trial.step()) / trial.target_steps());
}

std::string StepText(const v1::TrialSummary& trial) {
  if (trial.target_steps() == 0 && trial.progress() > 0) {
    const std::string share =
        absl::StrCat(static_cast<int>(std::lround(100 * trial.progress())), " %");
    return trial.step() == 0 ? share : absl::StrCat(trial.step(), ", ", share);
  }
  if (trial.target_steps() == 0) {
    return trial.step() == 0 ? kNone : absl::StrCat(trial.step(), "/?");
  }
  return absl::StrCat(trial.step(), "/", trial.target_steps());
}

std::string TrialName(const v1::TrialSummary& trial) {
  return absl::StrCat(trial.experiment(), "/", trial.trial());
}

// Whether a table of trials has a column of ours by that name, in capitals or not.
static bool IsOurHeader(const std::string& name) {
  static const auto* const ours = new std::set<std::string>(
      {"TRIAL",   "TRIALS", "STATE",    "STEP",     "STEPS",  "LOSS",   "BEST",
       "COMM",    "LEFT",   "NOTE",     "ATTEMPTS", "TIME",   "RUNS",   "OF",
       "WORKERS", "SLOTS",  "FINISHED", "FIN",      "MEMORY", "FAILED", "PROGRESS"});
  return ours->contains(absl::AsciiStrToUpper(name));
}

std::vector<Swept> SweptParameters(const std::vector<v1::TrialSummary>& trials) {
  std::vector<Swept> swept;
  std::map<std::string, int> uses;
  for (const v1::TrialSummary& trial : trials) {
    for (const v1::Assignment& assignment : trial.assignments()) {
      const auto known = std::find_if(swept.begin(), swept.end(), [&](const Swept& one) {
        return one.path == assignment.path();
      });
      if (known != swept.end()) continue;
      swept.push_back({assignment.path(), Printable(LastPart(assignment.path())), {}});
      ++uses[swept.back().name];
    }
  }
  for (Swept& one : swept) {
    if (uses[one.name] > 1) one.name = Printable(one.path);
    one.header = IsOurHeader(one.name) ? Printable(one.path) : one.name;
    if (IsOurHeader(one.header)) one.header.insert(0, kParameterColumn);
  }
  return swept;
}

std::string AssignmentText(const v1::TrialSummary& trial, const std::string& path) {
  for (const v1::Assignment& assignment : trial.assignments()) {
    if (assignment.path() == path) return Printable(spec::ValueText(assignment.value()));
  }
  return kNone;
}

std::string AssignmentsText(const v1::TrialSummary& trial) {
  std::string text;
  for (const Swept& one : SweptParameters({trial})) {
    absl::StrAppend(&text, text.empty() ? "" : " ", one.name, "=", AssignmentText(trial, one.path));
  }
  return text.empty() ? kNone : text;
}

std::string LineName(const v1::TrialSummary& trial) {
  return absl::StrCat(TrialName(trial), trial.assignments().empty() ? "" : "  ",
                      trial.assignments().empty() ? "" : AssignmentsText(trial));
}

std::string BuildText(const v1::Provenance& provenance) {
  if (provenance.program_version().empty()) return "";
  return Printable(
      absl::StrCat(provenance.program_version(), " (", provenance.program_revision(), ")"));
}

std::string TorchText(const v1::Provenance& provenance) {
  std::string text = provenance.torch_version();
  if (!provenance.cuda_version().empty()) {
    absl::StrAppend(&text, ", CUDA ", provenance.cuda_version());
  }
  if (!provenance.nccl_version().empty()) {
    absl::StrAppend(&text, ", NCCL ", provenance.nccl_version());
  }
  return Printable(text);
}

void AddColumns(Table& table, const std::vector<TrialColumn>& columns) {
  const auto number = [](const char* header, const char* short_header, int leave_out) {
    return Column{.header = header,
                  .align = Align::kRight,
                  .short_header = short_header,
                  .leave_out = leave_out};
  };
  for (const TrialColumn column : columns) {
    switch (column) {
      case kStep:
        table.columns.push_back(number("STEP", "", 9));
        break;
      case kLoss:
        table.columns.push_back(number("LOSS", "", 4));
        break;
      case kValLoss:
        table.columns.push_back(number("VAL LOSS", "VAL", 7));
        break;
      case kBest:
        table.columns.push_back(number("BEST", "", kLeaveOutLast));
        break;
      case kRate:
        table.columns.push_back(number("TOKENS/S", "TOK/S", 5));
        break;
      case kCommShare:
        table.columns.push_back(number("COMM SHARE", "COMM", 2));
        break;
      case kLeft:
        table.columns.push_back(number("LEFT", "", 8));
        break;
      case kTime:
        table.columns.push_back(number("TIME", "", 3));
        break;
    }
  }
}

void AddParameters(Table& table, const std::vector<Swept>& swept) {
  int rank = kLeaveOutLast - 1;
  for (const Swept& one : swept) {
    table.columns.push_back({.header = one.header,
                             .align = Align::kRight,
                             .short_header = kCutHeader,
                             .leave_out = std::max(10, rank--)});
  }
}

void LeaveOutUntold(Table& table, const std::vector<v1::TrialSummary>& trials, bool program) {
  const bool begun = program || std::any_of(trials.begin(), trials.end(), [](const auto& trial) {
                       return trial.step() > 0 || Ended(trial.state());
                     });
  if (begun) LeaveOutEmpty(table, {"LOSS", "VAL LOSS", "TOKENS/S", "COMM SHARE"});
}

Column MetricColumn(const std::string& metric) {
  return {.header = Printable(metric), .align = Align::kRight, .short_header = kCutHeader};
}

bool NeedsColumn(const std::string& metric) {
  return !metric.empty() && metric != "val_loss" && metric != "loss";
}

std::string BestLossText(const v1::TrialSummary& trial) {
  const std::string loss = FormatLoss(trial.best_val_loss());
  // A coordinator of 0.1.0 does not say the step.
  return trial.best_val_step() == 0 ? loss : absl::StrCat(loss, " at ", trial.best_val_step());
}

std::string BestText(const v1::TrialSummary& trial) {
  if (trial.metric_step() != 0) {
    return absl::StrCat(FormatLoss(trial.metric_value()), " at ", trial.metric_step());
  }
  // Trials are compared by their newest training loss, or an older coordinator does not say the
  // step.
  return std::isfinite(trial.metric_value()) ? BestLossText(trial) : kNone;
}

std::string MetricText(const v1::TrialSummary& trial) {
  return FormatLoss(trial.has_metric_newest() ? trial.metric_newest() : trial.metric_value());
}

std::string NoteText(const v1::TrialSummary& trial) {
  if (!trial.waiting().empty()) return Printable(trial.waiting());
  // Why it failed is what counts, and the last line of its output stands there.
  if (trial.hint().empty() || trial.state() == v1::TRIAL_FAILED) return Printable(trial.message());
  return Printable(
      absl::StrCat(trial.message(), trial.message().empty() ? "" : "; ", trial.hint()));
}

namespace {

// The texts of trials, each once with the first trial that has it: "12/3 and 7 more: …".
std::vector<Line> EachOnce(const std::vector<v1::TrialSummary>& trials, Style style,
                           const std::function<std::string(const v1::TrialSummary&)>& text_of) {
  constexpr size_t kTextsShown = 3;
  struct Found {
    const v1::TrialSummary* first = nullptr;
    std::string text;
    size_t count = 1;
  };
  std::vector<Found> found;
  for (const v1::TrialSummary& trial : trials) {
    std::string text = text_of(trial);
    if (text.empty()) continue;
    const auto known = std::find_if(found.begin(), found.end(),
                                    [&text](const Found& one) { return one.text == text; });
    if (known != found.end()) {
      ++known->count;
    } else if (found.size() < kTextsShown) {
      found.push_back({&trial, std::move(text)});
    }
  }
  std::vector<Line> lines;
  for (const Found& one : found) {
    const std::string others =
        one.count == 1 ? "" : absl::StrCat(" and ", FormatCount(one.count - 1), " more");
    lines.push_back(
        {{TrialName(*one.first), style}, {absl::StrCat(others, ": ", Printable(one.text))}});
  }
  return lines;
}

}  // namespace

std::vector<Line> HintLines(const std::vector<v1::TrialSummary>& trials) {
  return EachOnce(trials, Style::kWarn, [](const v1::TrialSummary& trial) {
    return trial.state() == v1::TRIAL_FAILED ? "" : trial.hint();
  });
}

std::vector<Line> FailureLines(const std::vector<v1::TrialSummary>& trials) {
  return EachOnce(trials, Style::kBad, [](const v1::TrialSummary& trial) {
    return trial.state() == v1::TRIAL_FAILED ? trial.message() : "";
  });
}

std::string RateText(const v1::TrialSummary& trial) {
  return trial.tokens_per_second() > 0 ? FormatRate(trial.tokens_per_second()) : kNone;
}

std::string CommShareText(const v1::TrialSummary& trial) {
  return trial.world_size() < 2 ? kNone : FormatRatio(trial.comm_ratio());
}

bool IsBetter(double a, double b, Goal goal) { return goal == Goal::kMinimize ? a < b : a > b; }

Goal GoalOf(const std::string& word) {
  return word == "maximize" ? Goal::kMaximize : Goal::kMinimize;
}

Early EarlyOf(const v1::ExperimentSpec& spec) {
  return spec.search().method() == "asha" ? Early::kLast : Early::kAmongOthers;
}

bool StoppedEarly(const v1::TrialSummary& trial) {
  return trial.state() == v1::TRIAL_FINISHED && trial.cause() == v1::CAUSE_STOPPED_EARLY;
}

size_t CountStoppedEarly(const std::vector<v1::TrialSummary>& trials) {
  return static_cast<size_t>(std::count_if(trials.begin(), trials.end(), StoppedEarly));
}

std::vector<const v1::TrialSummary*> Ranked(const std::vector<v1::TrialSummary>& trials, Goal goal,
                                            Early early) {
  std::vector<const v1::TrialSummary*> ranked;
  for (const v1::TrialSummary& trial : trials) ranked.push_back(&trial);
  const auto later = [early](const v1::TrialSummary* trial) {
    return early == Early::kLast && StoppedEarly(*trial);
  };
  std::stable_sort(ranked.begin(), ranked.end(),
                   [&](const v1::TrialSummary* a, const v1::TrialSummary* b) {
                     const bool has_a = std::isfinite(a->metric_value());
                     const bool has_b = std::isfinite(b->metric_value());
                     if (has_a != has_b) return has_a;
                     if (!has_a) return a->trial() < b->trial();
                     if (later(a) != later(b)) return later(b);
                     return IsBetter(a->metric_value(), b->metric_value(), goal);
                   });
  return ranked;
}

std::string BetterButEarlyText(const std::vector<const v1::TrialSummary*>& ranked, Goal goal,
                               const std::string& metric) {
  if (ranked.empty() || !std::isfinite(ranked.front()->metric_value())) return "";
  const v1::TrialSummary* better = ranked.front();
  for (const v1::TrialSummary* one : ranked) {
    if (StoppedEarly(*one) && IsBetter(one->metric_value(), better->metric_value(), goal)) {
      better = one;
    }
  }
  if (better == ranked.front()) return "";
  return absl::StrCat(TrialName(*better), " has a better ", Printable(metric), ", ",
                      FormatLoss(better->metric_value()), ", and was stopped early at step ",
                      StepText(*better));
}

}  // namespace dt::cli
