#include "cli/view/trial_table.h"

#include <algorithm>
#include <functional>
#include <utility>

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
  return {report::StateText(trial), StoppedEarly(trial) ? Style::kDim : StyleOf(trial.state())};
}

Cell StateCell(v1::ExperimentState state) { return {report::StateText(state), StyleOf(state)}; }

Cell StateCell(const v1::ExperimentSummary& experiment) {
  if (experiment.paused() && !Ended(experiment.state()))
    return {StateText(experiment), Style::kWarn};
  return StateCell(experiment.state());
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
