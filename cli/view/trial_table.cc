#include "cli/view/trial_table.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"

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

}  // namespace

Cell StateCell(const v1::TrialSummary& trial) {
  if (StoppedEarly(trial)) return {report::StateText(trial), Style::kDim};
  const bool good = trial.infeasible().empty() || trial.state() != v1::TRIAL_FINISHED;
  return {report::StateText(trial), good ? StyleOf(trial.state()) : Style::kWarn};
}

Cell StateCell(v1::ExperimentState state) { return {report::StateText(state), StyleOf(state)}; }

Cell StateCell(const v1::ExperimentSummary& experiment) {
  if (experiment.paused() && !Ended(experiment.state()))
    return {StateText(experiment), Style::kWarn};
  return StateCell(experiment.state());
}

std::string LossOf(const v1::TrialSummary& trial) {
  return trial.has_latest() ? FormatLoss(trial.latest().loss()) : kNone;
}

double RunSeconds(const v1::TrialSummary& trial) {
  if (trial.has_training_seconds()) return trial.training_seconds();
  // A coordinator of version 0.2.0 or before does not send it.
  if (trial.started_wall_ms() == 0 || trial.ended_wall_ms() == 0) return -1;
  return static_cast<double>(trial.ended_wall_ms() - trial.started_wall_ms()) / 1000;
}

namespace {

std::string LeftText(const v1::TrialSummary& trial) {
  const bool running = trial.state() == v1::TRIAL_RUNNING;
  return running ? FormatShort(std::ceil(trial.eta_seconds())) : kNone;
}

ListColumn<v1::TrialSummary> NumberColumn(const char* header, const char* short_header,
                                          int leave_out,
                                          std::string (*text)(const v1::TrialSummary&)) {
  return {{.header = header,
           .align = Align::kRight,
           .short_header = short_header,
           .leave_out = leave_out},
          [text](const v1::TrialSummary& trial) { return Cell{text(trial)}; }};
}

ListColumn<v1::TrialSummary> Shared(TrialColumn column) {
  using Trial = v1::TrialSummary;
  switch (column) {
    case kStep:
      return NumberColumn("STEP", "", 9, StepText);
    case kLoss:
      return NumberColumn("LOSS", "", 4, LossOf);
    case kValLoss:
      return NumberColumn("VAL LOSS", "VAL", 7,
                          [](const Trial& trial) { return FormatLoss(trial.val_loss()); });
    case kBest:
      return NumberColumn("BEST", "", kLeaveOutLast, BestText);
    case kRate:
      return NumberColumn("TOKENS/S", "TOK/S", 5, RateText);
    case kCommShare:
      return NumberColumn("COMM SHARE", "COMM", 2, CommShareText);
    case kLeft:
      return NumberColumn("LEFT", "", 8, LeftText);
    case kTime:
      return NumberColumn("TIME", "", 3,
                          [](const Trial& trial) { return FormatShort(RunSeconds(trial)); });
  }
  return {};
}

}  // namespace

void AddColumns(ListColumns<v1::TrialSummary>& to, const std::vector<TrialColumn>& columns) {
  for (const TrialColumn column : columns) to.push_back(Shared(column));
}

void AddParameters(ListColumns<v1::TrialSummary>& to, const std::vector<Swept>& swept) {
  int rank = kLeaveOutLast - 1;
  for (const Swept& one : swept) {
    to.push_back({{.header = one.header,
                   .align = Align::kRight,
                   .short_header = kCutHeader,
                   .leave_out = std::max(10, rank--)},
                  [path = one.path](const v1::TrialSummary& trial) {
                    return Cell{AssignmentText(trial, path)};
                  }});
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

ListColumn<v1::TrialSummary> MetricListColumn(const std::string& metric) {
  return {MetricColumn(metric),
          [](const v1::TrialSummary& trial) { return Cell{MetricText(trial)}; }};
}

std::vector<TrialColumn> BesideObjectives(std::vector<TrialColumn> columns,
                                          const std::vector<std::string>& metrics) {
  std::erase_if(columns, [&metrics](TrialColumn column) {
    return (column == kBest && !metrics.empty()) ||
           (column == kValLoss && absl::c_linear_search(metrics, "val_loss")) ||
           (column == kLoss && absl::c_linear_search(metrics, "loss"));
  });
  return columns;
}

void AddObjectives(ListColumns<v1::TrialSummary>& to, const std::vector<std::string>& metrics) {
  for (size_t i = 0; i < metrics.size(); ++i) {
    to.push_back({MetricColumn(metrics[i]), [place = static_cast<int>(i)](const auto& trial) {
                    const bool has = place < trial.objectives_size();
                    return Cell{FormatLoss(has ? trial.objectives(place) : std::nan(""))};
                  }});
  }
  if (metrics.empty()) return;
  to.push_back({{.header = "FRONT"}, [](const v1::TrialSummary& trial) {
                  return Cell{trial.pareto() ? "yes" : kNone, Style::kGood};
                }});
}

namespace {

// Returns the texts of trials, each once with its first trial: "12/3 and 7 more: …".
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

}  // namespace dt::cli
