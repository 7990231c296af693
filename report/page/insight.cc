#include "report/page/insight.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "report/analysis/configurations.h"
#include "report/analysis/parameter_axes.h"
#include "report/analysis/parameter_importance.h"
#include "report/analysis/results.h"
#include "report/figures/parallel_chart.h"
#include "report/page/chart_columns.h"
#include "report/words/format.h"
#include "report/words/ranking.h"
#include "report/words/summary.h"

namespace dt::report {
namespace {

using Kind = ParameterAxis::Kind;

// Upper bound on the lines: more become a grey wall, and the page grows with them.
constexpr size_t kLinesMost = 400;
// Lower bound on the trials: fewer are easier to read in the table.
constexpr size_t kLinesLeast = 6;
// Share of an ordered place or choice over which its lines spread, so that they stay distinct; and
// the upper bound as a share of the axis, so that they still meet beside the name.
constexpr double kPlaceSpread = 0.6;
constexpr double kSpreadMost = 0.12;

std::vector<v1::TrialSummary> SummariesOf(const Experiment& experiment) {
  std::vector<v1::TrialSummary> summaries;
  summaries.reserve(experiment.trials.size());
  for (const Trial& trial : experiment.trials) summaries.push_back(trial.summary);
  return summaries;
}

// Returns the place of a trial's line. `rank` is its rank among all, from 0 (best) to 1 (worst): at
// one place better trials are above the others.
double LinePlace(const ParameterAxis& axis, const v1::TrialSummary& trial, double rank) {
  const double middle = MiddlePlace(axis, trial);
  if (axis.kind == Kind::kNumber) return middle;
  const auto count = static_cast<double>(axis.texts.size());
  return middle + (0.5 - rank) * std::min(kPlaceSpread / count, kSpreadMost);
}

Figure ParallelFigure(const Experiment& experiment, const std::vector<ParameterAxis>& axes,
                      const std::vector<const Trial*>& valued) {
  const v1::ExperimentSummary& summary = experiment.found.summary();
  const MetricAxis metric = MetricAxisOf(ValuesOf(valued), GoalOf(summary.goal()), Top::kBest);
  ParallelChart chart;
  chart.title = "Every trial across its parameters";
  for (const ParameterAxis& axis : axes) chart.columns.push_back(ColumnOf(axis));
  chart.columns.push_back(MetricColumn(metric, summary.metric()));
  const size_t drawn = std::min(valued.size(), kLinesMost);
  const size_t quarter = QuarterOf(valued);
  for (size_t i = drawn; i-- > 0;) {  // best last, so above the others
    const v1::TrialSummary& trial = valued[i]->summary;
    const double rank =
        static_cast<double>(i) / static_cast<double>(std::max<size_t>(1, drawn - 1));
    ParallelChart::Line& line = chart.lines.emplace_back();
    line.name = absl::StrCat(LineName(trial), "  ", Printable(summary.metric()), " ",
                             FormatLoss(trial.metric_value()));
    line.weight = i == 0        ? ParallelChart::Weight::kBest
                  : i < quarter ? ParallelChart::Weight::kGood
                                : ParallelChart::Weight::kOther;
    for (const ParameterAxis& axis : axes) line.places.push_back(LinePlace(axis, trial, rank));
    line.places.push_back(metric.Place(trial.metric_value()));
  }
  chart.weight_names = {drawn > quarter ? "others" : "", quarter > 1 ? "best quarter" : "",
                        absl::StrCat("best: ", TrialName(valued[0]->summary))};
  std::string note = absl::StrCat("A line is a trial; the axis of ", Printable(summary.metric()),
                                  " has the best at the top. Point at a line for its values.");
  if (metric.beyond > 0) {
    absl::StrAppend(&note, " ", Plural(metric.beyond, "trial"), metric.beyond == 1 ? " is" : " are",
                    " so much worse that the line ends at the bottom.");
  }
  if (drawn < valued.size()) {
    absl::StrAppend(&note, " Only the ", drawn, " best of ", FormatCount(valued.size()),
                    " are drawn.");
  }
  return {std::move(chart), std::move(note)};
}

// Returns "0.0001 … 0.01"; for choices, those that occur, the most frequent first.
std::string RangeText(const ParameterAxis& axis, const std::vector<const Trial*>& trials) {
  if (axis.kind == Kind::kChoice) {
    std::vector<std::pair<size_t, std::string>> counted;
    for (const std::string& text : axis.texts) {
      const auto count = std::count_if(trials.begin(), trials.end(), [&](const Trial* one) {
        return ValueAt(one->summary, axis.path) == text;
      });
      if (count > 0) counted.emplace_back(count, text);
    }
    std::stable_sort(counted.begin(), counted.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<std::string> texts;
    texts.reserve(counted.size());
    for (const auto& [count, text] : counted) texts.push_back(absl::StrCat(text, " (", count, ")"));
    return texts.empty() ? kNone : absl::StrJoin(texts, ", ");
  }
  const Trial* least = nullptr;
  const Trial* most = nullptr;
  for (const Trial* one : trials) {
    const double value = NumberAt(one->summary, axis.path);
    if (!std::isfinite(value)) continue;
    if (least == nullptr || value < NumberAt(least->summary, axis.path)) least = one;
    if (most == nullptr || value > NumberAt(most->summary, axis.path)) most = one;
  }
  if (least == nullptr) return kNone;
  const std::string low = ValueAt(least->summary, axis.path);
  const std::string high = ValueAt(most->summary, axis.path);
  return low == high ? low : absl::StrCat(low, " … ", high);
}

}  // namespace

void AppendSeeds(const Experiment& experiment, Document& document) {
  const std::vector<v1::TrialSummary> summaries = SummariesOf(experiment);
  std::vector<Configuration> configurations = ConfigurationsOf(summaries);
  if (!HasReplicates(configurations)) return;
  const v1::ExperimentSummary& summary = experiment.found.summary();
  const Goal goal = GoalOf(summary.goal());
  BestFirst(configurations, goal);
  TextTable table;
  table.caption = absl::StrCat(Printable(summary.metric()),
                               " over the seeds of each configuration: mean ± sample standard "
                               "deviation of the trials that finished, those with all of them "
                               "first");
  table.header = {"trials"};
  const std::vector<ParameterAxis> axes = AxesOf(experiment);
  for (const ParameterAxis& axis : axes) table.header.push_back(axis.path);
  table.text_columns = table.header.size();
  for (const char* name : {"mean ± deviation", "n", "finished", "best trial"}) {
    table.header.emplace_back(name);
  }
  for (const Configuration& one : configurations) {
    std::vector<std::string>& row = table.rows.emplace_back(1, ConfigurationName(one));
    for (const ParameterAxis& axis : axes) row.push_back(ValueAt(*one.trials[0], axis.path));
    const v1::TrialSummary* best = BestTrial(one, goal);
    row.push_back(SpreadText(one.metric));
    row.push_back(absl::StrCat(one.metric.n));
    row.push_back(absl::StrCat(one.ended - one.failed, " of ", one.trials.size()));
    row.push_back(best == nullptr
                      ? kNone
                      : absl::StrCat(TrialName(*best), ": ", FormatLoss(best->metric_value())));
  }
  if (configurations[0].metric.n > 0) table.marked = 0;
  document.blocks.push_back(Heading{"Configurations"});
  document.blocks.push_back(std::move(table));
}

void AppendImportance(const Experiment& experiment, Document& document) {
  const absl::StatusOr<ImportanceFindings> findings = AnalyseImportance(experiment);
  if (!findings.ok()) {
    // A small grid needs no note: its table is easy to read.
    if (experiment.found.spec().search().method() == "grid" ||
        experiment.found.spec().search().method().empty()) {
      return;
    }
    document.blocks.push_back(
        Paragraph{absl::StrCat("Not known: ", std::string(findings.status().message()), ".")});
    return;
  }
  BarChart chart;
  chart.title = absl::StrCat("Share of the variance of ", findings->measured);
  chart.x_label = "per cent";
  chart.parts = {"alone"};
  TextTable table;
  table.caption = "Share of the variance, and how much the trees of the forest differ in it";
  table.header = {"parameter", "share", "deviation"};
  std::vector<importance::Effect> effects = findings->found.single;
  const std::vector<importance::Effect> pairs = ShownPairs(*findings);
  if (!pairs.empty()) chart.parts.emplace_back("only together");
  effects.insert(effects.end(), pairs.begin(), pairs.end());
  for (const importance::Effect& effect : effects) {
    const std::string name = NameOf(*findings, effect);
    std::vector<double> values = {100 * effect.share};
    if (effect.factors.size() > 1) values.insert(values.begin(), 0);
    chart.bars.push_back({name, values});
    table.rows.push_back({name, PercentText(effect.share), PercentText(effect.deviation)});
  }
  document.blocks.push_back(Figure{std::move(chart), ""});
  document.blocks.push_back(std::move(table));
  document.blocks.push_back(Paragraph{ReachText(*findings)});
}

void AppendParallel(const Experiment& experiment, Document& document) {
  const std::vector<ParameterAxis> axes = AxesOf(experiment);
  const std::vector<const Trial*> valued = Valued(experiment);
  if (axes.size() < 2 || valued.size() < kLinesLeast) return;
  document.blocks.push_back(ParallelFigure(experiment, axes, valued));
  const size_t quarter = QuarterOf(valued);
  const std::vector<const Trial*> best(valued.begin(),
                                       valued.begin() + static_cast<int64_t>(quarter));
  TextTable table;
  table.caption = absl::StrCat("Of ", FormatCount(valued.size()),
                               " trials with a value, the best quarter (", quarter, ")");
  table.header = {"parameter", "all trials", "best quarter",
                  absl::StrCat("best trial, ", TrialName(valued[0]->summary))};
  table.text_columns = table.header.size();
  for (const ParameterAxis& axis : axes) {
    table.rows.push_back({axis.path, RangeText(axis, valued), RangeText(axis, best),
                          ValueAt(valued[0]->summary, axis.path)});
  }
  document.blocks.push_back(std::move(table));
}

}  // namespace dt::report
