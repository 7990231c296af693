#include "report/page/compare.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "report/analysis/differences.h"
#include "report/analysis/results.h"
#include "report/page/sections.h"
#include "report/page/study.h"
#include "report/words/format.h"
#include "report/words/summary.h"

namespace dt::report {
namespace {

using Experiments = std::vector<Experiment>;

std::string IdOf(const Experiment& experiment) {
  return absl::StrCat(experiment.found.summary().experiment());
}

std::string SignedText(double a, double b) {
  return std::isfinite(b - a) ? absl::StrFormat("%+.4f", b - a) : kNone;
}

// Returns the difference of `b` from `a`, relative to `a`.
std::string ChangeText(double a, double b) {
  const double ratio = (b - a) / a;
  return std::isfinite(ratio) ? absl::StrFormat("%+.1f%%", ratio * 100) : kNone;
}

Result ResultOrNone(const Trial* trial) {
  static const Trial* const none = [] {
    auto* unknown = new Trial();
    unknown->summary.set_val_loss(std::nan(""));
    unknown->summary.set_metric_value(std::nan(""));
    return unknown;
  }();
  return ResultOf(trial == nullptr ? *none : *trial);
}

std::string OutcomeText(const Trial* trial) {
  return trial == nullptr ? kNone
                          : absl::StrCat(TrialName(trial->summary), ": ", ResultOf(*trial).outcome);
}

// Columns of a comparison: a number of each experiment, and its change against the first.
struct Measure {
  std::string name;
  std::string against;  // heading of the columns of changes
  std::function<double(const Result&)> value;
  std::function<std::string(double)> text;
  std::function<std::string(double, double)> change;
};

void AddHeader(const Experiments& experiments, const Measure& measure, TextTable& table) {
  for (const Experiment& one : experiments) {
    table.header.push_back(absl::StrCat(measure.name, ", ", IdOf(one)));
  }
  for (size_t i = 1; i < experiments.size(); ++i) {
    table.header.push_back(experiments.size() == 2
                               ? measure.against
                               : absl::StrCat(measure.against, ", ", IdOf(experiments[i])));
  }
}

void AddCells(const TrialGroup& group, const Measure& measure, std::vector<std::string>& row) {
  std::vector<double> values;
  for (const Trial* trial : group) values.push_back(measure.value(ResultOrNone(trial)));
  for (const double value : values) row.push_back(measure.text(value));
  for (size_t i = 1; i < values.size(); ++i) row.push_back(measure.change(values[0], values[i]));
}

// Returns the parameters of the trial that sweeps the most of them.
std::string NameOf(const TrialGroup& group) {
  const Trial* fullest = nullptr;
  for (const Trial* trial : group) {
    if (trial == nullptr) continue;
    if (fullest == nullptr ||
        trial->summary.assignments_size() > fullest->summary.assignments_size()) {
      fullest = trial;
    }
  }
  return AssignmentsText(fullest->summary);
}

enum class Outcomes { kShown, kLeftOut };

TextTable GroupTable(const Experiments& experiments, const std::vector<TrialGroup>& groups,
                     Outcomes outcomes, const std::vector<Measure>& measures,
                     const std::string& caption) {
  TextTable table;
  table.caption = absl::StrCat("Trials with equal parameters; differences are against experiment ",
                               IdOf(experiments[0]), caption);
  table.header = {"parameters"};
  if (outcomes == Outcomes::kShown) {
    for (const Experiment& one : experiments) table.header.push_back(IdOf(one));
  }
  table.text_columns = table.header.size();
  for (const Measure& measure : measures) AddHeader(experiments, measure, table);
  for (const TrialGroup& group : groups) {
    std::vector<std::string>& row = table.rows.emplace_back(1, NameOf(group));
    if (outcomes == Outcomes::kShown) {
      for (const Trial* trial : group) row.push_back(OutcomeText(trial));
    }
    for (const Measure& measure : measures) AddCells(group, measure, row);
  }
  return table;
}

// Returns the metric of the programs if all experiments run programs with the same one, else "".
std::string MetricOfPrograms(const Experiments& experiments) {
  const std::string metric = MetricOfProgram(experiments.front());
  const bool all = std::all_of(experiments.begin(), experiments.end(), [&](const Experiment& one) {
    return MetricOfProgram(one) == metric;
  });
  return all ? metric : "";
}

// Adds two tables instead of one, so that neither is wider than a page.
void AppendTables(const Experiments& experiments, const std::vector<TrialGroup>& groups,
                  Document& document) {
  const bool evaluated =
      std::all_of(experiments.begin(), experiments.end(),
                  [](const Experiment& one) { return LossShown(one.trials) == Loss::kValidation; });
  const Loss shown = evaluated ? Loss::kValidation : Loss::kTraining;
  const std::string metric = MetricOfPrograms(experiments);
  if (!metric.empty()) {
    const std::vector<Measure> measures = {{Printable(metric), "difference",
                                            [](const Result& r) { return r.metric; }, FormatLoss,
                                            SignedText}};
    document.blocks.push_back(GroupTable(experiments, groups, Outcomes::kShown, measures, ""));
    return;
  }
  const std::vector<Measure> losses = {
      {"loss", "difference", [shown](const Result& r) { return LossOf(r, shown); }, FormatLoss,
       SignedText},
      {"perplexity", "change", [](const Result& r) { return r.perplexity; }, FixedText,
       ChangeText}};
  const std::vector<Measure> speeds = {
      {"seconds per epoch", "change", [](const Result& r) { return r.seconds_per_epoch; },
       FixedText, ChangeText},
      {"tokens/s", "change", [](const Result& r) { return r.tokens_per_second; },
       [](double rate) { return FormatRate(rate); }, ChangeText}};
  document.blocks.push_back(GroupTable(experiments, groups, Outcomes::kShown, losses,
                                       absl::StrCat("; loss is ", LossName(shown))));
  document.blocks.push_back(GroupTable(experiments, groups, Outcomes::kLeftOut, speeds, ""));
}

void AppendDifferences(const Experiments& experiments, Document& document) {
  document.blocks.push_back(Heading{"Differences"});
  TextTable table;
  table.caption =
      "Resolved fields; of a field that differs between the trials of one, all its values";
  table.header = {"field"};
  for (const Experiment& one : experiments) table.header.push_back(IdOf(one));
  table.text_columns = table.header.size();
  for (const Difference& one : DifferencesOf(experiments)) {
    std::vector<std::string>& row = table.rows.emplace_back(1, one.path);
    row.insert(row.end(), one.values.begin(), one.values.end());
  }
  if (table.rows.empty()) {
    document.blocks.push_back(
        Paragraph{"None: no field differs, and neither do software, devices and data."});
  } else {
    document.blocks.push_back(std::move(table));
  }
}

void AddCurve(const Trial& trial, Look look, LineChart& chart) {
  ChartLine& line = chart.lines.emplace_back();
  line.name = LineName(trial.summary);
  line.look = look;
  line.points = trial.mean_by_step;
  line.marks = trial.val_by_step;
}

bool HasCurve(const Trial* trial) { return trial != nullptr && !trial->loss_by_step.empty(); }

// Returns the curves in one figure: all trials of as many groups as there are colours. Where no
// trials match, the best trial of each experiment.
Figure Curves(const Experiments& experiments, const std::vector<TrialGroup>& groups) {
  LineChart chart;
  chart.title = "Training loss over steps";
  chart.x_label = "optimizer step";
  chart.y_label = MetricOfProgram(experiments.front()).empty() ? "loss (nats per token)" : "loss";
  size_t colour = 0;
  for (const TrialGroup& group : groups) {
    if (colour == kColours) break;
    if (std::count_if(group.begin(), group.end(), HasCurve) < 2) continue;
    for (size_t i = 0; i < group.size(); ++i) {
      if (HasCurve(group[i])) AddCurve(*group[i], {colour, i}, chart);
    }
    ++colour;
  }
  std::string note = absl::StrCat(
      "Trials with equal parameters have one colour, dashes tell the experiments apart. At most ",
      kColours, " such groups are drawn.");
  if (chart.lines.empty()) {
    note = "No trials have equal parameters: the best of each experiment is drawn.";
    for (const Experiment& one : experiments) {
      const std::vector<const Trial*> ranked = BestFirst(one);
      const auto best = std::find_if(ranked.begin(), ranked.end(), HasCurve);
      if (best != ranked.end()) AddCurve(**best, LookOf(chart.lines.size()), chart);
    }
  }
  std::vector<double> ys;
  for (const ChartLine& line : chart.lines) {
    for (const Point& point : line.points) ys.push_back(point.y);
  }
  chart.y_scale = ChooseScale(ys);
  chart.marks_name = "validation";
  absl::StrAppend(&note, " Lines go through the means of ", kMeansPerLine, " stretches.");
  return {std::move(chart), note};
}

}  // namespace

std::vector<TrialGroup> MatchTrials(const Experiments& experiments) {
  std::set<std::string> swept;
  for (const Experiment& experiment : experiments) {
    for (const Trial& trial : experiment.trials) {
      for (const v1::Assignment& one : trial.summary.assignments()) swept.insert(one.path());
    }
  }
  const std::vector<std::string> paths(swept.begin(), swept.end());
  std::vector<TrialGroup> groups;
  std::map<std::vector<std::string>, std::vector<size_t>> alike;  // indices of groups
  for (size_t i = 0; i < experiments.size(); ++i) {
    for (const Trial& trial : experiments[i].trials) {
      std::vector<size_t>& known = alike[ResolvedTexts(experiments[i], trial, paths)];
      const auto free = std::find_if(known.begin(), known.end(),
                                     [&](size_t group) { return groups[group][i] == nullptr; });
      if (free == known.end()) {
        known.push_back(groups.size());
        groups.emplace_back(experiments.size())[i] = &trial;
      } else {
        groups[*free][i] = &trial;
      }
    }
  }
  return groups;
}

Document CompareReport(const Experiments& experiments) {
  Document document;
  std::vector<std::string> ids;
  for (const Experiment& one : experiments) ids.push_back(IdOf(one));
  const std::string last = ids.back();
  ids.pop_back();
  document.title =
      absl::StrCat("Experiments ", absl::StrJoin(ids, ", "), " and ", last, " compared");
  for (const Experiment& one : experiments) document.blocks.push_back(HeadFacts(one));
  AppendDifferences(experiments, document);
  document.blocks.push_back(Heading{"Results"});
  const std::vector<TrialGroup> groups = MatchTrials(experiments);
  AppendTables(experiments, groups, document);
  document.blocks.push_back(Paragraph{MeasuresNote(MetricOfPrograms(experiments))});
  Figure figure = Curves(experiments, groups);
  if (!std::get<LineChart>(figure.chart).lines.empty()) {
    document.blocks.push_back(std::move(figure));
  }
  for (const Experiment& one : experiments) {
    AppendConfiguration(one, absl::StrCat("Configuration of experiment ", IdOf(one)), document);
  }
  return document;
}

}  // namespace dt::report
