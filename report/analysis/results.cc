#include "report/analysis/results.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "api/json.h"
#include "report/words/format.h"
#include "report/words/ranking.h"
#include "report/words/summary.h"
#include "spec/program.h"
#include "spec/spec.h"

namespace dt::report {
namespace {

double AboveZero(double value) { return value > 0 && std::isfinite(value) ? value : kUnknown; }

std::string OutcomeWord(const v1::TrialSummary& trial) {
  return RanOutOfMemory(trial) ? api::Word(v1::CAUSE_OOM) : StateText(trial);
}

double NumberOf(const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kInteger:
      return static_cast<double>(value.integer());
    case v1::Value::kNumber:
      return value.number();
    case v1::Value::kText:
    case v1::Value::kFlag:
    case v1::Value::kNumbers:
    case v1::Value::KIND_NOT_SET:
      return kUnknown;
  }
  return kUnknown;
}

}  // namespace

bool TrainedToItsEnd(const v1::TrialSummary& trial) {
  return trial.state() == v1::TRIAL_FINISHED && !StoppedEarly(trial);
}

bool RanOutOfMemory(const v1::TrialSummary& trial) {
  return trial.state() == v1::TRIAL_FAILED && trial.cause() == v1::CAUSE_OOM;
}

Result ResultOf(const Trial& trial) {
  const v1::TrialSummary& summary = trial.summary;
  Result result;
  result.loss = summary.has_latest() ? summary.latest().loss() : kUnknown;
  result.val_loss = summary.val_loss();
  result.metric = summary.metric_value();
  // A program's loss need not be that of tokens.
  result.perplexity = summary.tokens_per_step() > 0 ? std::exp(summary.val_loss()) : kUnknown;
  result.perplexity_mean = AboveZero(trial.newest_evaluation.perplexity_mean());
  result.tokens_per_second = AboveZero(summary.tokens_per_second());
  const double epoch_tokens = AboveZero(static_cast<double>(summary.train_tokens()));
  result.seconds_per_epoch = epoch_tokens / result.tokens_per_second;
  result.epochs = AboveZero(static_cast<double>(summary.tokens_per_step())) *
                  static_cast<double>(summary.step()) / epoch_tokens;
  const bool alone = summary.world_size() < 2;
  result.comm_ratio = alone ? kUnknown : summary.comm_ratio();
  result.comm_exposed_ratio = alone ? kUnknown : summary.comm_exposed_ratio();
  result.word = result.outcome = OutcomeWord(summary);
  const bool partial = summary.target_steps() > 0 && summary.step() > 0 &&
                       !RanOutOfMemory(summary) && !TrainedToItsEnd(summary);
  if (partial) absl::StrAppend(&result.outcome, " ", StepText(summary));
  return result;
}

std::string ValueAt(const v1::TrialSummary& trial, const std::string& path) {
  return AssignmentText(trial, path);
}

bool HasValue(const v1::TrialSummary& trial, const std::string& path) {
  return std::any_of(trial.assignments().begin(), trial.assignments().end(),
                     [&](const v1::Assignment& one) { return one.path() == path; });
}

double NumberAt(const v1::TrialSummary& trial, const std::string& path) {
  for (const v1::Assignment& one : trial.assignments()) {
    if (one.path() == path) return NumberOf(one.value());
  }
  return kUnknown;
}

std::vector<SweptParameter> SweptIn(const std::vector<Trial>& trials) {
  std::vector<v1::TrialSummary> summaries;
  summaries.reserve(trials.size());
  for (const Trial& trial : trials) summaries.push_back(trial.summary);
  std::vector<SweptParameter> swept;
  for (const Swept& one : SweptParameters(summaries)) {
    SweptParameter parameter{one.path, {}, {}};
    std::set<std::string> seen;  // a range gives as many texts as trials
    bool lacking = false;
    for (const v1::TrialSummary& trial : summaries) {
      if (!HasValue(trial, one.path)) {
        lacking = true;
        continue;
      }
      std::string text = ValueAt(trial, one.path);
      if (!seen.insert(text).second) continue;
      parameter.texts.push_back(std::move(text));
      parameter.numbers.push_back(NumberAt(trial, one.path));
    }
    if (parameter.texts.size() + (lacking ? 1 : 0) < 2) continue;
    const bool numeric = std::all_of(parameter.numbers.begin(), parameter.numbers.end(),
                                     [](double number) { return std::isfinite(number); });
    if (!numeric) parameter.numbers.clear();
    swept.push_back(std::move(parameter));
  }
  return swept;
}

std::string OthersText(const v1::TrialSummary& trial, const std::vector<SweptParameter>& swept,
                       const std::string& path) {
  std::string text;
  for (const SweptParameter& one : swept) {
    if (one.path == path) continue;
    absl::StrAppend(&text, text.empty() ? "" : ", ", one.path, " = ", ValueAt(trial, one.path));
  }
  return text;
}

std::string LeftOutNote(size_t drawn, size_t all, const char* of) {
  if (all <= drawn) return "";
  return absl::StrCat(" Only the ", drawn, " best of ", FormatCount(all), of, " are drawn.");
}

std::vector<const Trial*> BestFirst(const Experiment& experiment) {
  std::vector<v1::TrialSummary> summaries;
  summaries.reserve(experiment.trials.size());
  for (const Trial& trial : experiment.trials) summaries.push_back(trial.summary);
  std::vector<const Trial*> ranked;
  for (const auto* one : Ranked(summaries, GoalOf(experiment.found.summary().goal()),
                                EarlyOf(experiment.found.spec()))) {
    ranked.push_back(&experiment.trials[static_cast<size_t>(one - summaries.data())]);
  }
  return ranked;
}

std::string MetricOfProgram(const Experiment& experiment) {
  if (!spec::IsProgram(experiment.found.spec())) return "";
  const std::string& metric = experiment.found.summary().metric();
  return metric.empty() ? "val_loss" : metric;
}

}  // namespace dt::report
