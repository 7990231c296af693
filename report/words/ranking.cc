#include "report/words/ranking.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "report/words/format.h"
#include "report/words/summary.h"

namespace dt::report {

bool IsBetter(double a, double b, Goal goal) { return goal == Goal::kMinimize ? a < b : a > b; }

Goal GoalOf(const std::string& word) {
  return word == "maximize" ? Goal::kMaximize : Goal::kMinimize;
}

Early EarlyOf(const v1::ExperimentSpec& spec) {
  return spec.search().method() == "asha" ? Early::kLast : Early::kAmongOthers;
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

}  // namespace dt::report
