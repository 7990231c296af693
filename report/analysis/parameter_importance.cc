#include "report/analysis/parameter_importance.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/status.h"
#include "report/analysis/parameter_axes.h"
#include "report/analysis/results.h"
#include "report/words/format.h"
#include "report/words/ranking.h"
#include "report/words/summary.h"
#include "spec/search.h"

namespace dt::report {
namespace {

constexpr size_t kPairsShown = 5;
constexpr double kPairWorthShowing = 0.02;
// A lower R² means that the forest explains little of the differences between trials.
constexpr double kPoorFit = 0.3;

// Returns the rung at which most trials have a value, the later one of two; 0: no trial has one.
int CommonRung(const Experiment& experiment) {
  std::map<int, size_t> counts;
  for (const Trial& trial : experiment.trials) {
    for (const RungValue& one : trial.rung_values) ++counts[one.rung];
  }
  int common = 0;
  for (const auto& [rung, count] : counts) {
    if (common == 0 || count >= counts[common]) common = rung;
  }
  return common;
}

double ValueAtRung(const Trial& trial, int rung) {
  const auto found = std::find_if(trial.rung_values.begin(), trial.rung_values.end(),
                                  [rung](const RungValue& one) { return one.rung == rung; });
  return found == trial.rung_values.end() ? std::nan("") : found->value;
}

double ValueOf(const Trial& trial, int rung) {
  if (rung > 0) return ValueAtRung(trial, rung);
  return trial.summary.state() == v1::TRIAL_FINISHED ? trial.summary.metric_value() : std::nan("");
}

// Returns the axes that every trial has a value on, without those of more choices than a tree can
// separate: these say little about any choice. `partial` gets the paths of the others.
std::vector<ParameterAxis> UsableAxes(const Experiment& experiment,
                                      std::vector<std::string>& partial) {
  std::vector<ParameterAxis> axes = AxesOf(experiment);
  std::erase_if(axes, [&](const ParameterAxis& axis) {
    const bool everywhere =
        std::all_of(experiment.trials.begin(), experiment.trials.end(),
                    [&](const Trial& trial) { return HasValue(trial.summary, axis.path); });
    if (!everywhere) partial.push_back(axis.path);
    return !everywhere;
  });
  std::erase_if(axes, [](const ParameterAxis& axis) {
    return axis.kind == ParameterAxis::Kind::kChoice && axis.texts.size() > importance::kChoicesMax;
  });
  // Sorted by name, so that the order in the file does not matter.
  std::sort(axes.begin(), axes.end(),
            [](const ParameterAxis& a, const ParameterAxis& b) { return a.path < b.path; });
  return axes;
}

std::string RungText(const v1::Search& search, int rung) {
  return absl::StrCat(" at rung ", rung, " (1/", spec::DivisorOf(spec::LadderOf(search), rung),
                      " of the steps)");
}

}  // namespace

absl::StatusOr<ImportanceFindings> AnalyseImportance(const Experiment& experiment) {
  const v1::ExperimentSummary& summary = experiment.found.summary();
  const v1::Search& search = experiment.found.spec().search();
  ImportanceFindings findings;
  const int rung = search.method() == "asha" ? CommonRung(experiment) : 0;
  findings.measured =
      absl::StrCat(Printable(summary.metric()), rung > 0 ? RungText(search, rung) : "");
  const std::vector<ParameterAxis> axes = UsableAxes(experiment, findings.partial);
  if (axes.empty()) {
    return absl::FailedPreconditionError(
        "no parameter has more than one value among the trials; there is nothing to compare");
  }
  std::vector<importance::Factor> factors;
  for (const ParameterAxis& axis : axes) {
    findings.paths.push_back(axis.path);
    const bool choice = axis.kind == ParameterAxis::Kind::kChoice;
    factors.push_back({choice ? axis.texts.size() : 0});
  }
  const double sign = GoalOf(summary.goal()) == Goal::kMinimize ? 1 : -1;
  std::vector<importance::Row> rows;
  for (const Trial& trial : experiment.trials) {
    importance::Row row{{}, sign * ValueOf(trial, rung)};
    for (const ParameterAxis& axis : axes) row.at.push_back(PlaceOf(axis, trial.summary));
    const bool whole =
        std::isfinite(row.value) && std::all_of(row.at.begin(), row.at.end(),
                                                [](double place) { return std::isfinite(place); });
    if (!whole) {
      ++findings.without;
      continue;
    }
    if (rung == 0 && StoppedEarly(trial.summary)) ++findings.early;
    rows.push_back(std::move(row));
  }
  DT_ASSIGN_OR_RETURN(findings.found, importance::Analyse(factors, std::move(rows)));
  return findings;
}

std::string NameOf(const ImportanceFindings& findings, const importance::Effect& effect) {
  std::vector<std::string> names;
  for (const size_t factor : effect.factors) names.push_back(Printable(findings.paths[factor]));
  return absl::StrJoin(names, " × ");
}

std::vector<importance::Effect> ShownPairs(const ImportanceFindings& findings) {
  std::vector<importance::Effect> shown;
  for (const importance::Effect& pair : findings.found.pairs) {
    if (shown.size() < kPairsShown && pair.share >= kPairWorthShowing) shown.push_back(pair);
  }
  return shown;
}

std::string ReachText(const ImportanceFindings& findings) {
  const importance::Importance& found = findings.found;
  std::string text =
      absl::StrCat("Shares of the variance of ", findings.measured,
                   " over the full space of the search, from ", Plural(found.rows, "trial"));
  if (findings.early > 0) {
    absl::StrAppend(&text, ", ", findings.early, " of them stopped early, with their best value");
  }
  if (findings.without > 0) {
    absl::StrAppend(&text, "; ", Plural(findings.without, "trial"), " without a value ",
                    findings.without == 1 ? "is" : "are", " left out");
  }
  text += ".";
  if (!findings.partial.empty()) {
    absl::StrAppend(&text, " Only some trials have ",
                    Printable(absl::StrJoin(findings.partial, ", ")),
                    "; such parameters are left out.");
  }
  if (found.clipped > 0) {
    absl::StrAppend(&text, " ", Plural(found.clipped, "value"),
                    " far worse than the others count as less.");
  }
  if (!std::isfinite(found.fit)) return text;
  absl::StrAppend(&text, absl::StrFormat(" The model predicts a trial from the others with "
                                         "R² %.2f.",
                                         std::max(0.0, found.fit)));
  if (found.fit < kPoorFit) {
    text += " That is little: chance, or more trials, may change the order.";
  }
  return text;
}

std::vector<Json> ImportanceItems(const ImportanceFindings& findings) {
  std::vector<Json> items;
  const auto add = [&](const importance::Effect& effect) {
    Json parameters = Json::array();
    for (const size_t factor : effect.factors) parameters.push_back(findings.paths[factor]);
    items.push_back({{"parameters", std::move(parameters)},
                     {"share", effect.share},
                     {"deviation", effect.deviation}});
  };
  for (const importance::Effect& effect : findings.found.single) add(effect);
  for (const importance::Effect& effect : findings.found.pairs) add(effect);
  return items;
}

}  // namespace dt::report
