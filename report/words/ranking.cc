#include "report/words/ranking.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "report/words/format.h"
#include "report/words/summary.h"

namespace dt::report {

bool Counts(const v1::TrialSummary& trial) {
  return std::isfinite(trial.metric_value()) && trial.infeasible().empty();
}

std::string FrontText(const v1::ExperimentSummary& experiment) {
  if (experiment.metrics().empty()) return "";
  if (experiment.pareto_trials().empty()) return "no finished trial has all metrics";
  constexpr int kShown = 12;
  const int size = experiment.pareto_trials_size();
  std::string text = absl::StrCat(Plural(static_cast<size_t>(size), "trial"), ": ");
  for (int i = 0; i < std::min(size, kShown); ++i) {
    absl::StrAppend(&text, i > 0 ? ", " : "", experiment.experiment(), "/",
                    experiment.pareto_trials(i));
  }
  return size > kShown ? absl::StrCat(text, ", …") : text;
}

std::string FrontSizeText(const v1::ExperimentSummary& experiment) {
  if (experiment.metrics().empty() || experiment.pareto_trials().empty()) return kNone;
  return absl::StrCat("front of ", experiment.pareto_trials_size());
}

std::string GoalsText(const v1::ExperimentSummary& experiment) {
  if (experiment.metrics().empty()) {
    return absl::StrCat(experiment.goal(), " ", Printable(experiment.metric()));
  }
  std::string text;
  for (int i = 0; i < experiment.metrics_size(); ++i) {
    const std::string goal = i < experiment.goals_size() ? experiment.goals(i) : "";
    absl::StrAppend(&text, i > 0 ? ", " : "", goal, " ", Printable(experiment.metrics(i)));
  }
  return text;
}

std::string ObjectivesText(const v1::ExperimentSummary& experiment, const v1::TrialSummary& trial) {
  std::string text;
  for (int i = 0; i < std::min(trial.objectives_size(), experiment.metrics_size()); ++i) {
    absl::StrAppend(&text, i > 0 ? ", " : "", Printable(experiment.metrics(i)), " ",
                    FormatLoss(trial.objectives(i)));
  }
  return trial.pareto() ? absl::StrCat(text, "; on the Pareto front") : text;
}

std::string ConstraintsText(const v1::ExperimentSummary& experiment) {
  if (experiment.constraints().empty()) return "";
  std::string text;
  for (const std::string& one : experiment.constraints()) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", Printable(one));
  }
  if (experiment.infeasible() > 0) {
    absl::StrAppend(&text, "; ", Plural(experiment.infeasible(), "trial"), " infeasible");
  }
  return text;
}

bool IsBetter(double a, double b, Goal goal) { return goal == Goal::kMinimize ? a < b : a > b; }

Goal GuessGoal(std::string_view metric) {
  const std::string name = absl::AsciiStrToLower(absl::string_view(metric.data(), metric.size()));
  const auto has = [&name](const char* word) { return absl::StrContains(name, word); };
  constexpr const char* kLess[] = {"loss", "err", "perplex", "latency", "cost", "brier"};
  constexpr const char* kMore[] = {"acc",    "score",  "auc",    "f1",         "precision",
                                   "recall", "reward", "return", "per_second", "throughput",
                                   "bleu",   "rouge",  "iou"};
  const bool more = std::any_of(std::begin(kMore), std::end(kMore), has) &&
                    std::none_of(std::begin(kLess), std::end(kLess), has);
  return more ? Goal::kMaximize : Goal::kMinimize;
}

Goal GoalOf(const std::string& word) {
  return word == "maximize" ? Goal::kMaximize : Goal::kMinimize;
}

Early EarlyOf(const v1::ExperimentSpec& spec) {
  return spec.search().method() == "asha" ? Early::kLast : Early::kAmongOthers;
}

std::vector<const v1::TrialSummary*> Ranked(const std::vector<v1::TrialSummary>& trials, Goal goal,
                                            Early early) {
  std::vector<const v1::TrialSummary*> ranked;
  ranked.reserve(trials.size());
  for (const v1::TrialSummary& trial : trials) ranked.push_back(&trial);
  const auto later = [early](const v1::TrialSummary* trial) {
    return early == Early::kLast && StoppedEarly(*trial);
  };
  std::stable_sort(ranked.begin(), ranked.end(),
                   [&](const v1::TrialSummary* a, const v1::TrialSummary* b) {
                     const bool has_a = Counts(*a);
                     const bool has_b = Counts(*b);
                     if (has_a != has_b) return has_a;
                     if (!has_a) return a->trial() < b->trial();
                     if (a->pareto() != b->pareto()) return a->pareto();
                     if (later(a) != later(b)) return later(b);
                     return IsBetter(a->metric_value(), b->metric_value(), goal);
                   });
  return ranked;
}

std::string BetterButEarlyText(const std::vector<const v1::TrialSummary*>& ranked, Goal goal,
                               const std::string& metric) {
  if (ranked.empty() || !Counts(*ranked.front()) || !ranked.front()->objectives().empty()) {
    return "";
  }
  const v1::TrialSummary* better = ranked.front();
  for (const v1::TrialSummary* one : ranked) {
    if (StoppedEarly(*one) && Counts(*one) &&
        IsBetter(one->metric_value(), better->metric_value(), goal)) {
      better = one;
    }
  }
  if (better == ranked.front()) return "";
  return absl::StrCat(TrialName(*better), " has a better ", Printable(metric), ", ",
                      FormatLoss(better->metric_value()), ", and was stopped early at step ",
                      StepText(*better));
}

}  // namespace dt::report
