#include "spec/objectives.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "spec/search.h"

namespace dt::spec {

bool HasSeveralObjectives(const v1::Search& search) { return search.metrics_size() > 1; }

std::vector<Objective> ObjectivesOf(const v1::Search& search) {
  if (!HasSeveralObjectives(search)) return {{search.metric(), GoalOf(search)}};
  std::vector<Objective> objectives;
  for (int i = 0; i < search.metrics_size(); ++i) {
    v1::Search one;
    one.set_metric(search.metrics(i));
    if (i < search.goals_size()) one.set_goal(search.goals(i));
    objectives.push_back({one.metric(), GoalOf(one)});
  }
  return objectives;
}

std::string ObjectivesText(const v1::Search& search) {
  std::vector<std::string> texts;
  for (const Objective& one : ObjectivesOf(search)) {
    texts.push_back(absl::StrCat(one.goal, " ", one.metric));
  }
  return absl::StrJoin(texts, " and ");
}

Watches WatchesOf(const v1::Search& search) {
  Watches watches;
  std::vector<std::string>& names = watches.metrics;
  if (HasSeveralObjectives(search)) {
    names.assign(search.metrics().begin(), search.metrics().end());
  }
  for (const std::string& text : search.constraints()) {
    auto read = ParseConstraint(text);
    auto* constraint = std::get_if<Constraint>(&read);
    if (constraint == nullptr) continue;
    const bool known = std::find(names.begin(), names.end(), constraint->metric) != names.end();
    if (!known) names.push_back(constraint->metric);
    watches.constraints.push_back(std::move(*constraint));
  }
  return watches;
}

const std::vector<std::string>& MeasuredMetrics() {
  static const auto* const names =
      new std::vector<std::string>({kTrainingSeconds, kTokensPerSecond, "memory_peak_bytes",
                                    "tensor_peak_bytes", kModelParameters});
  return *names;
}

bool IsTrainerMetric(std::string_view metric) {
  const Field& field = *FindExperimentField("search.metric");
  const auto& measured = MeasuredMetrics();
  return std::find(field.choices.begin(), field.choices.end(), metric) != field.choices.end() ||
         std::find(measured.begin(), measured.end(), metric) != measured.end();
}

}  // namespace dt::spec
