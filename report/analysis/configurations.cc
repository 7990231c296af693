#include "report/analysis/configurations.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "report/words/format.h"
#include "report/words/ranking.h"
#include "report/words/summary.h"
#include "spec/spec.h"

namespace dt::report {
namespace {

// Returns a key that only trials of the same configuration share. A length before each text keeps
// one text from looking like two.
std::string KeyOf(const v1::TrialSummary& trial) {
  std::map<std::string, std::string> values;
  for (const v1::Assignment& one : trial.assignments()) {
    if (one.path() != kSeed) values[one.path()] = spec::ValueText(one.value());
  }
  std::string key = absl::StrCat(trial.experiment());
  for (const auto& [path, value] : values) {
    absl::StrAppend(&key, "\n", path, "=", value.size(), ":", value);
  }
  return key;
}

double FinishedValue(const v1::TrialSummary& trial) {
  return trial.state() == v1::TRIAL_FINISHED ? trial.metric_value()
                                             : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

Spread SpreadOf(const std::vector<double>& values) {
  Spread spread;
  double sum = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    sum += value;
    ++spread.n;
  }
  const auto n = static_cast<double>(spread.n);
  spread.mean = sum / n;  // of none: NaN
  double squares = 0;
  for (const double value : values) {
    if (std::isfinite(value)) squares += (value - spread.mean) * (value - spread.mean);
  }
  spread.deviation =
      spread.n < 2 ? std::numeric_limits<double>::quiet_NaN() : std::sqrt(squares / (n - 1));
  return spread;
}

std::string SpreadText(const Spread& spread) {
  if (spread.n < 2) return FormatLoss(spread.mean);
  return absl::StrCat(FormatLoss(spread.mean), " ± ", FormatLoss(spread.deviation));
}

std::vector<Configuration> ConfigurationsOf(const std::vector<v1::TrialSummary>& trials) {
  std::map<std::string, size_t> index;
  std::vector<Configuration> configurations;
  for (const v1::TrialSummary& trial : trials) {
    const auto [found, added] = index.emplace(KeyOf(trial), configurations.size());
    if (added) configurations.emplace_back();
    Configuration& one = configurations[found->second];
    one.trials.push_back(&trial);
    if (Ended(trial.state())) ++one.ended;
    if (trial.state() == v1::TRIAL_FAILED) ++one.failed;
  }
  for (Configuration& one : configurations) {
    std::stable_sort(one.trials.begin(), one.trials.end(),
                     [](const auto* a, const auto* b) { return a->trial() < b->trial(); });
    std::vector<double> values;
    for (const v1::TrialSummary* trial : one.trials) values.push_back(FinishedValue(*trial));
    one.metric = SpreadOf(values);
  }
  return configurations;
}

bool HasReplicates(const std::vector<Configuration>& configurations) {
  return std::any_of(configurations.begin(), configurations.end(),
                     [](const Configuration& one) { return one.trials.size() > 1; });
}

void BestFirst(std::vector<Configuration>& configurations, Goal goal) {
  std::stable_sort(configurations.begin(), configurations.end(),
                   [goal](const Configuration& a, const Configuration& b) {
                     const auto rank = [](const Configuration& one) {
                       return one.Complete() ? 0 : one.metric.n > 0 ? 1 : 2;
                     };
                     if (rank(a) != rank(b)) return rank(a) < rank(b);
                     if (a.metric.n == 0) return false;
                     return IsBetter(a.metric.mean, b.metric.mean, goal);
                   });
}

const v1::TrialSummary* BestTrial(const Configuration& configuration, Goal goal) {
  const v1::TrialSummary* best = nullptr;
  for (const v1::TrialSummary* trial : configuration.trials) {
    const double value = FinishedValue(*trial);
    if (!std::isfinite(value)) continue;
    if (best == nullptr || IsBetter(value, FinishedValue(*best), goal)) best = trial;
  }
  return best;
}

std::string ConfigurationName(const Configuration& configuration) {
  const std::string first = TrialName(*configuration.trials.front());
  if (configuration.trials.size() == 1) return first;
  const uint32_t last = configuration.trials.back()->trial();
  const bool neighbours =
      last - configuration.trials.front()->trial() + 1 == configuration.trials.size();
  return absl::StrCat(first, neighbours ? "…" : ", …, ", last);
}

std::string ConfigurationLineName(const Configuration& configuration) {
  const v1::TrialSummary& first = *configuration.trials.front();
  v1::TrialSummary without = first;
  without.clear_assignments();
  for (const v1::Assignment& one : first.assignments()) {
    if (one.path() != kSeed) *without.add_assignments() = one;
  }
  return absl::StrCat(ConfigurationName(configuration), without.assignments().empty() ? "" : "  ",
                      without.assignments().empty() ? "" : AssignmentsText(without));
}

Json ConfigurationJson(const Configuration& configuration, const std::string& metric) {
  const auto number = [](double value) {
    return std::isfinite(value) ? Json(value) : Json(nullptr);
  };
  const v1::TrialSummary& first = *configuration.trials.front();
  Json trials = Json::array();
  Json seeds = Json::array();
  for (const v1::TrialSummary* trial : configuration.trials) {
    trials.push_back(trial->trial());
    seeds.push_back(trial->seed());
  }
  Json assignments = api::TrialJson(first)["assignments"];
  if (assignments.is_object()) assignments.erase(kSeed);
  Json json = {{"id", TrialName(first)},
               {"experiment", first.experiment()},
               {"trials", std::move(trials)},
               {"seeds", std::move(seeds)},
               {"assignments", std::move(assignments)},
               {"metric", metric.empty() ? Json(nullptr) : Json(metric)},
               {"n", configuration.metric.n},
               {"ended", configuration.ended},
               {"failed", configuration.failed},
               {"mean", number(configuration.metric.mean)},
               {"deviation", number(configuration.metric.deviation)}};
  return json;
}

}  // namespace dt::report
