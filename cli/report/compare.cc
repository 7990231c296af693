#include "cli/report/compare.h"

#include <cmath>
#include <deque>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/report/differences.h"
#include "cli/report/results.h"
#include "cli/report/sections.h"
#include "cli/report/study.h"
#include "cli/view/format.h"
#include "cli/view/summary.h"

namespace dt::cli::report {
namespace {

// Parameters in any order.
std::map<std::string, std::string> ParametersOf(const Trial& trial) {
  std::map<std::string, std::string> values;
  for (const v1::Assignment& one : trial.summary.assignments()) {
    values[one.path()] = ValueAt(trial.summary, one.path());
  }
  return values;
}

std::string SignedText(double value) {
  return std::isfinite(value) ? absl::StrFormat("%+.4f", value) : kNone;
}

// By how much of it `b` differs from `a`.
std::string ChangeText(double a, double b) {
  const double ratio = (b - a) / a;
  return std::isfinite(ratio) ? absl::StrFormat("%+.1f%%", ratio * 100) : kNone;
}

Result ResultOrNone(const Trial* trial) {
  static const Trial* const none = [] {
    auto* unknown = new Trial();
    unknown->summary.set_val_loss(std::nan(""));
    return unknown;
  }();
  return ResultOf(trial == nullptr ? *none : *trial);
}

std::string OutcomeText(const Trial* trial) {
  return trial == nullptr ? kNone
                          : absl::StrCat(TrialName(trial->summary), ": ", ResultOf(*trial).outcome);
}

// A table of pairs in the making.
struct PairColumns {
  std::string first;  // numbers of the experiments
  std::string second;
  TextTable table;

  void Add(const std::string& name, const std::string& difference) {
    table.header.push_back(absl::StrCat(name, ", ", first));
    table.header.push_back(absl::StrCat(name, ", ", second));
    table.header.push_back(difference);
  }
};

PairColumns ColumnsOf(const Experiment& a, const Experiment& b, const std::string& caption) {
  PairColumns columns;
  columns.first = absl::StrCat(a.found.summary().experiment());
  columns.second = absl::StrCat(b.found.summary().experiment());
  columns.table.caption = absl::StrCat("Trials with equal parameters; differences are experiment ",
                                       columns.second, " against ", columns.first, caption);
  columns.table.header = {"parameters"};
  return columns;
}

std::string PairName(const TrialPair& pair) {
  return AssignmentsText((pair.first != nullptr ? *pair.first : *pair.second).summary);
}

// Two tables rather than one: as wide as a page, not wider.
TextTable LossTable(const Experiment& a, const Experiment& b, Loss shown) {
  PairColumns columns = ColumnsOf(a, b, absl::StrCat("; loss is ", LossName(shown)));
  TextTable& table = columns.table;
  table.header.push_back(columns.first);
  table.header.push_back(columns.second);
  table.text_columns = 3;
  columns.Add("loss", "difference");
  columns.Add("perplexity", "change");
  for (const TrialPair& pair : MatchTrials(a, b)) {
    const Result one = ResultOrNone(pair.first);
    const Result two = ResultOrNone(pair.second);
    const double loss = LossOf(one, shown);
    const double other = LossOf(two, shown);
    table.rows.push_back({PairName(pair), OutcomeText(pair.first), OutcomeText(pair.second),
                          FormatLoss(loss), FormatLoss(other), SignedText(other - loss),
                          FixedText(one.perplexity), FixedText(two.perplexity),
                          ChangeText(one.perplexity, two.perplexity)});
  }
  return std::move(columns.table);
}

TextTable SpeedTable(const Experiment& a, const Experiment& b) {
  PairColumns columns = ColumnsOf(a, b, "");
  columns.Add("seconds per epoch", "change");
  columns.Add("tokens/s", "change");
  for (const TrialPair& pair : MatchTrials(a, b)) {
    const Result one = ResultOrNone(pair.first);
    const Result two = ResultOrNone(pair.second);
    columns.table.rows.push_back(
        {PairName(pair), FixedText(one.seconds_per_epoch), FixedText(two.seconds_per_epoch),
         ChangeText(one.seconds_per_epoch, two.seconds_per_epoch),
         FormatRate(one.tokens_per_second), FormatRate(two.tokens_per_second),
         ChangeText(one.tokens_per_second, two.tokens_per_second)});
  }
  return std::move(columns.table);
}

void AppendDifferences(const Experiment& a, const Experiment& b, Document& document) {
  document.blocks.push_back(Heading{"In what they differ"});
  TextTable table;
  table.caption =
      "Resolved fields; of a field that differs between the trials of one, all its values";
  table.header = {"field", absl::StrCat(a.found.summary().experiment()),
                  absl::StrCat(b.found.summary().experiment())};
  table.text_columns = 3;
  for (const Difference& one : DifferencesOf(a, b)) {
    table.rows.push_back({one.path, one.first, one.second});
  }
  if (table.rows.empty()) {
    document.blocks.push_back(Paragraph{"In no field, nor in what they ran on."});
  } else {
    document.blocks.push_back(std::move(table));
  }
}

// Loss over steps of whole pairs, as many as there are colours.
Figure PairFigure(const std::vector<TrialPair>& pairs) {
  LineChart chart;
  chart.title = "Training loss over steps";
  chart.x_label = "optimizer step";
  chart.y_label = "loss (nats per token)";
  std::vector<double> ys;
  size_t colour = 0;
  for (const auto& [left, right] : pairs) {
    if (left == nullptr || right == nullptr || left->logged + right->logged == 0) continue;
    if (colour == kColours) break;
    for (const Trial* trial : {left, right}) {
      ChartLine& line = chart.lines.emplace_back();
      line.name = absl::StrCat(TrialName(trial->summary), "  ", AssignmentsText(trial->summary));
      line.look = {colour, trial == left ? 0U : 1U};
      line.points = trial->mean_by_step;
      line.marks = trial->val_by_step;
      for (const Point& point : line.points) ys.push_back(point.y);
    }
    ++colour;
  }
  chart.y_scale = ChooseScale(ys);
  chart.marks_name = "validation";
  const std::string note = absl::StrCat(
      "A pair has one colour; the second experiment is dashed. Lines go through the means of ",
      kMeansPerLine, " stretches. At most ", kColours, " pairs are drawn.");
  return {std::move(chart), note};
}

}  // namespace

std::vector<TrialPair> MatchTrials(const Experiment& a, const Experiment& b) {
  std::map<std::map<std::string, std::string>, std::deque<const Trial*>> waiting;
  for (const Trial& trial : b.trials) waiting[ParametersOf(trial)].push_back(&trial);
  std::vector<TrialPair> pairs;
  std::set<const Trial*> paired;
  for (const Trial& trial : a.trials) {
    std::deque<const Trial*>& equal = waiting[ParametersOf(trial)];
    const Trial* partner = equal.empty() ? nullptr : equal.front();
    if (partner != nullptr) equal.pop_front();
    paired.insert(partner);
    pairs.emplace_back(&trial, partner);
  }
  for (const Trial& trial : b.trials) {
    if (!paired.contains(&trial)) pairs.emplace_back(nullptr, &trial);
  }
  return pairs;
}

Document CompareReport(const Experiment& a, const Experiment& b) {
  Document document;
  document.title = absl::StrCat("Experiments ", a.found.summary().experiment(), " and ",
                                b.found.summary().experiment(), " compared");
  document.blocks.push_back(HeadFacts(a));
  document.blocks.push_back(HeadFacts(b));
  AppendDifferences(a, b, document);
  document.blocks.push_back(Heading{"Results"});
  const bool evaluated =
      LossShown(a.trials) == Loss::kValidation && LossShown(b.trials) == Loss::kValidation;
  document.blocks.push_back(LossTable(a, b, evaluated ? Loss::kValidation : Loss::kTraining));
  document.blocks.push_back(SpeedTable(a, b));
  document.blocks.push_back(Paragraph{MeasuresNote()});
  Figure figure = PairFigure(MatchTrials(a, b));
  if (!std::get<LineChart>(figure.chart).lines.empty()) {
    document.blocks.push_back(std::move(figure));
  }
  for (const Experiment* one : {&a, &b}) {
    AppendConfiguration(
        *one, absl::StrCat("Configuration of experiment ", one->found.summary().experiment()),
        document);
  }
  return document;
}

}  // namespace dt::cli::report
