#include "report/page/search_pictures.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "report/analysis/front.h"
#include "report/analysis/results.h"
#include "report/figures/axis.h"
#include "report/page/chart_columns.h"
#include "report/words/format.h"
#include "report/words/summary.h"

namespace dt::report {
namespace {

using DotWeight = DotChart::Weight;

constexpr size_t kTrialsLeast = 2;  // fewer make no picture
constexpr size_t kFieldLeast = 4;   // trials of a field
constexpr size_t kDotsMost = 1000;  // in a panel: of more trials, the best
constexpr size_t kPanelsMost = 12;  // of slices
constexpr size_t kFrontRowsMost = 20;
constexpr char kEpoch[] = "epoch";  // a metric that only counts

// Returns the words about values far from the others.
std::string BeyondText(const MetricAxis& axis) {
  return axis.beyond == 0 ? ""
                          : absl::StrCat(" ", Plural(axis.beyond, "outlier"),
                                         axis.beyond == 1 ? " is" : " are", " at the edge.");
}

// Returns the trials to draw, the best first, and notes how many are left out.
std::vector<const Trial*> DotsOf(std::vector<const Trial*> valued, std::string& note) {
  if (valued.size() <= kDotsMost) return valued;
  absl::StrAppend(&note, LeftOutNote(kDotsMost, valued.size(), " trials"));
  valued.resize(kDotsMost);
  return valued;
}

std::string DotName(const v1::TrialSummary& trial, const std::string& metric) {
  return absl::StrCat(LineName(trial), "  ", metric, " ", FormatLoss(trial.metric_value()));
}

std::string MetricOf(const Experiment& experiment) {
  return Printable(experiment.found.summary().metric());
}

bool IsBest(const Experiment& experiment, const Trial& trial) {
  return trial.summary.trial() == experiment.found.summary().best_trial();
}

std::string BestName(const Experiment& experiment, const std::vector<const Trial*>& trials) {
  const auto best = std::find_if(trials.begin(), trials.end(),
                                 [&](const Trial* one) { return IsBest(experiment, *one); });
  return best == trials.end() ? "" : absl::StrCat("best: ", TrialName((*best)->summary));
}

ParallelChart::Column FullColumnOf(const ParameterAxis& axis) {
  ParallelChart::Column column = ColumnOf(axis);
  column.name = axis.path;
  return column;
}

std::vector<const Trial*> ByNumber(std::vector<const Trial*> trials) {
  std::sort(trials.begin(), trials.end(),
            [](const Trial* a, const Trial* b) { return a->summary.trial() < b->summary.trial(); });
  return trials;
}

// Returns the trials that improved on every trial before them, by number. A trial that a rung
// stopped trained for less, so it counts only if there is no other.
std::vector<const Trial*> Improvements(const Experiment& experiment,
                                       std::vector<const Trial*> trials) {
  const Goal goal = GoalOf(experiment.found.summary().goal());
  std::erase_if(trials, [](const Trial* one) { return !Counts(one->summary); });
  if (EarlyOf(experiment.found.spec()) == Early::kLast) {
    const auto early = [](const Trial* one) { return StoppedEarly(one->summary); };
    if (!std::all_of(trials.begin(), trials.end(), early)) std::erase_if(trials, early);
  }
  std::vector<const Trial*> better;
  for (const Trial* one : ByNumber(std::move(trials))) {
    if (better.empty() ||
        IsBetter(one->summary.metric_value(), better.back()->summary.metric_value(), goal)) {
      better.push_back(one);
    }
  }
  return better;
}

// Returns round levels between the lowest and the highest value of an axis.
std::vector<double> LevelsOf(const MetricAxis& axis) {
  std::vector<double> levels;
  constexpr int kWanted = 8;
  const ChartAxis round = ChartAxis::Round(Scale::kLinear, {axis.low, axis.high}, kWanted);
  for (const Tick& tick : round.ticks()) {
    if (tick.value > axis.low && tick.value < axis.high) levels.push_back(tick.value);
  }
  return levels;
}

// The other metric of a front.
struct Objective {
  std::string name;  // as reported
  std::string label;
  Goal goal = Goal::kMinimize;
};

double ValueOf(const Trial& trial, const Objective& of) {
  if (of.name.empty()) {
    return trial.summary.has_training_seconds() ? trial.summary.training_seconds()
                                                : std::numeric_limits<double>::quiet_NaN();
  }
  for (const auto& [name, value] : trial.newest_metrics) {
    if (name == of.name) return value;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

// Returns the search's second metric. A search of one metric: the first other metric that the
// trials report; without one, their time in training.
Objective OtherObjective(const Experiment& experiment, const std::vector<const Trial*>& trials) {
  const v1::ExperimentSummary& summary = experiment.found.summary();
  if (summary.metrics_size() > 1) {
    return {summary.metrics(1), Printable(summary.metrics(1)), GoalOf(summary.goals(1))};
  }
  for (const Trial* trial : trials) {
    for (const auto& [name, value] : trial->newest_metrics) {
      if (name == experiment.found.summary().metric() || name == kEpoch) continue;
      return {name, Printable(name), GuessGoal(name)};
    }
  }
  return {"", "training seconds", Goal::kMinimize};
}

std::string GoalWord(Goal goal) { return goal == Goal::kMaximize ? "maximize" : "minimize"; }

// A front: the trials with both values, as points, and those on the front.
struct Front {
  Objective other;
  std::vector<const Trial*> trials;
  std::vector<Point> points;
  std::vector<size_t> on;  // indices, the best by x first
};

Front FrontIn(const Experiment& experiment) {
  Front front;
  const std::vector<const Trial*> valued = Valued(experiment);
  front.other = OtherObjective(experiment, valued);
  for (const Trial* trial : valued) {
    if (!Counts(trial->summary)) continue;
    const auto& objectives = trial->summary.objectives();
    const bool several = objectives.size() > 1;
    const double value = several ? objectives[1] : ValueOf(*trial, front.other);
    const double own = several ? objectives[0] : trial->summary.metric_value();
    if (!std::isfinite(value) || !std::isfinite(own)) continue;
    front.trials.push_back(trial);
    front.points.push_back({value, own});
  }
  front.on = FrontOf(front.points, front.other.goal, GoalOf(experiment.found.summary().goal()));
  return front;
}

DotChart::Panel FrontPanel(const Front& front, const std::string& metric, const MetricAxis& x,
                           const MetricAxis& y) {
  DotChart::Panel panel{MetricColumn(x, front.other.label), MetricColumn(y, metric), {}, {}, {}};
  const std::set<size_t> all_on(front.on.begin(), front.on.end());
  for (size_t i = 0; i < front.trials.size(); ++i) {
    const bool on = all_on.contains(i);
    if (!on && i >= kDotsMost) continue;
    panel.dots.push_back({absl::StrCat(DotName(front.trials[i]->summary, metric), "  ",
                                       front.other.label, " ", FormatLoss(front.points[i].x)),
                          x.Place(front.points[i].x), y.Place(front.points[i].y),
                          on ? DotWeight::kBest : DotWeight::kOther});
  }
  for (const size_t i : front.on) {
    const DotChart::Place place = {x.Place(front.points[i].x), y.Place(front.points[i].y)};
    if (!panel.line.empty()) panel.line.push_back({place.x, panel.line.back().y});
    panel.line.push_back(place);
  }
  return panel;
}

}  // namespace

void AppendBestSoFar(const Experiment& experiment, Document& document) {
  const std::vector<const Trial*> valued = Valued(experiment);
  if (valued.size() < kTrialsLeast) return;
  const std::string metric = MetricOf(experiment);
  const MetricAxis up =
      MetricAxisOf(ValuesOf(valued), GoalOf(experiment.found.summary().goal()), Top::kLargest);
  double most = 1;
  for (const Trial* one : valued) {
    most = std::max(most, static_cast<double>(one->summary.trial()));
  }
  DotChart chart;
  chart.title = absl::StrCat(metric, " of each trial");
  DotChart::Panel panel{
      {"trial", "", ScaleTicks(Scale::kLinear, 0, most)}, MetricColumn(up, metric), {}, {}, {}};
  std::string note = "A dot is a trial with its best value; the line is the best value so far.";
  const size_t quarter = QuarterOf(valued);
  const std::vector<const Trial*> drawn = DotsOf(valued, note);
  const auto across = [most](const Trial& one) { return one.summary.trial() / most; };
  for (size_t i = 0; i < drawn.size(); ++i) {
    const Trial& one = *drawn[i];
    panel.dots.push_back({DotName(one.summary, metric), across(one),
                          up.Place(one.summary.metric_value()),
                          IsBest(experiment, one) ? DotWeight::kBest
                          : i < quarter           ? DotWeight::kGood
                                                  : DotWeight::kOther});
  }
  for (const Trial* one : Improvements(experiment, valued)) {
    const DotChart::Place place = {across(*one), up.Place(one->summary.metric_value())};
    if (!panel.line.empty()) panel.line.push_back({place.x, panel.line.back().y});
    panel.line.push_back(place);
  }
  if (!panel.line.empty()) panel.line.push_back({1, panel.line.back().y});
  chart.panels.push_back(std::move(panel));
  chart.weight_names = {"others", quarter > 1 ? "best quarter" : "", BestName(experiment, valued)};
  note += BeyondText(up);
  document.blocks.push_back(Figure{std::move(chart), std::move(note)});
}

void AppendSlices(const Experiment& experiment, Document& document) {
  std::vector<ParameterAxis> axes = AxesOf(experiment);
  const std::vector<const Trial*> valued = Valued(experiment);
  if (axes.empty() || valued.size() < kTrialsLeast) return;
  const std::string metric = MetricOf(experiment);
  const MetricAxis up =
      MetricAxisOf(ValuesOf(valued), GoalOf(experiment.found.summary().goal()), Top::kLargest);
  std::string note =
      "Each panel has the trials over one parameter. A fuller blue is a later trial.";
  if (axes.size() > kPanelsMost) {
    absl::StrAppend(&note, " Only the first ", kPanelsMost, " of ", axes.size(),
                    " parameters are drawn.");
    axes.resize(kPanelsMost);
  }
  const std::vector<const Trial*> drawn = ByNumber(DotsOf(valued, note));
  const double first = drawn.front()->summary.trial();
  const double last = drawn.back()->summary.trial();
  DotChart chart;
  chart.title = absl::StrCat("Slices: ", metric, " over each parameter");
  std::vector<DotChart::Dot> dots;  // the same in each panel, but for x
  dots.reserve(drawn.size());
  for (const Trial* one : drawn) {
    dots.push_back({DotName(one->summary, metric), 0, up.Place(one->summary.metric_value()),
                    IsBest(experiment, *one) ? DotWeight::kBest : DotWeight::kOther,
                    last > first ? (one->summary.trial() - first) / (last - first) : 1});
  }
  for (const ParameterAxis& axis : axes) {
    for (size_t i = 0; i < drawn.size(); ++i) dots[i].x = MiddlePlace(axis, drawn[i]->summary);
    chart.panels.push_back({FullColumnOf(axis), MetricColumn(up, metric), dots, {}, {}});
  }
  chart.pale_name = absl::StrCat("trial ", first);
  chart.full_name = absl::StrCat("trial ", last);
  chart.weight_names = {"", "", BestName(experiment, drawn)};
  note += BeyondText(up);
  document.blocks.push_back(Figure{std::move(chart), std::move(note)});
}

void AppendContour(const Experiment& experiment, Document& document) {
  const std::vector<ParameterAxis> axes = AxesOf(experiment);
  if (axes.size() < 2) return;
  const ParameterAxis& x = axes[0];
  const ParameterAxis& y = axes[1];
  std::vector<const Trial*> valued = Valued(experiment);
  std::erase_if(valued, [&](const Trial* one) {
    return !std::isfinite(MiddlePlace(x, one->summary)) ||
           !std::isfinite(MiddlePlace(y, one->summary));
  });
  if (valued.size() < kFieldLeast) return;
  const std::string metric = MetricOf(experiment);
  const Goal goal = GoalOf(experiment.found.summary().goal());
  const MetricAxis axis = MetricAxisOf(ValuesOf(valued), goal, Top::kLargest);
  std::string note =
      "A fuller blue is better. Between the trials the field is their mean, weighted by 1 ÷ "
      "distance³; it is empty far from all of them.";
  DotChart::Panel panel{FullColumnOf(x), FullColumnOf(y), {}, {}, {}};
  std::vector<FieldPoint> points;  // in the page's order: of many, every n-th counts
  for (const Trial* one : ByNumber(valued)) {
    points.push_back({MiddlePlace(x, one->summary), MiddlePlace(y, one->summary),
                      std::clamp(one->summary.metric_value(), axis.low, axis.high)});
  }
  for (const Trial* one : DotsOf(valued, note)) {
    panel.dots.push_back({DotName(one->summary, metric), MiddlePlace(x, one->summary),
                          MiddlePlace(y, one->summary),
                          IsBest(experiment, *one) ? DotWeight::kBest : DotWeight::kPlain});
  }
  panel.field = {metric, FieldOf(points), LevelsOf(axis), goal == Goal::kMaximize};
  DotChart chart;
  chart.title = absl::StrCat("Contour: ", metric, " over ", x.path, " and ", y.path);
  chart.panels.push_back(std::move(panel));
  chart.weight_names = {"", "", BestName(experiment, valued)};
  document.blocks.push_back(Figure{std::move(chart), std::move(note)});
}

void AppendFront(const Experiment& experiment, Document& document) {
  const Front front = FrontIn(experiment);
  if (front.trials.size() < kTrialsLeast) return;
  const std::string metric = MetricOf(experiment);
  const Goal goal = GoalOf(experiment.found.summary().goal());
  std::vector<double> xs, ys;
  for (const Point& point : front.points) {
    xs.push_back(point.x);
    ys.push_back(point.y);
  }
  const MetricAxis x = MetricAxisOf(xs, front.other.goal, Top::kLargest);
  const MetricAxis y = MetricAxisOf(ys, goal, Top::kLargest);
  DotChart chart;
  chart.title = absl::StrCat("Pareto front: ", GoalWord(goal), " ", metric, ", ",
                             GoalWord(front.other.goal), " ", front.other.label);
  chart.panels.push_back(FrontPanel(front, metric, x, y));
  chart.weight_names = {"others", "", "on the front"};
  TextTable table;
  table.caption =
      absl::StrCat(FormatCount(front.on.size()), " of ", Plural(front.trials.size(), "trial"),
                   " on the front", front.on.size() > kFrontRowsMost ? ", the first of them" : "");
  table.header = {"trial", "parameters", metric, front.other.label};
  table.text_columns = 2;
  for (const size_t i : front.on) {
    if (table.rows.size() == kFrontRowsMost) break;
    table.rows.push_back({TrialName(front.trials[i]->summary),
                          AssignmentsText(front.trials[i]->summary), FormatLoss(front.points[i].y),
                          FormatLoss(front.points[i].x)});
  }
  const std::string left_out =
      front.trials.size() > kDotsMost
          ? absl::StrCat(" Of more than ", kDotsMost, " trials, the best and the front are drawn.")
          : "";
  document.blocks.push_back(Figure{
      std::move(chart), absl::StrCat("No other trial beats one on the front in both metrics. ",
                                     metric, " is a trial's best value, ", front.other.label,
                                     " its newest.", BeyondText(x), BeyondText(y), left_out)});
  document.blocks.push_back(std::move(table));
}

}  // namespace dt::report
