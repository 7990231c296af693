#include "report/page/study.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/free_name.h"
#include "report/analysis/configurations.h"
#include "report/words/format.h"
#include "report/words/summary.h"
#include "spec/program.h"

namespace dt::report {
namespace {

constexpr char kSequenceLength[] = "train.seq_len";

bool HasMean(const std::vector<Trial>& trials) {
  return std::any_of(trials.begin(), trials.end(), [](const Trial& trial) {
    return trial.newest_evaluation.perplexity_mean() > 0;
  });
}

enum class Perplexities { kOne, kBoth };

// Returns the cell of a program's trials: the best value of their metric; for several seeds its
// mean.
std::string MetricCell(const std::vector<const Trial*>& trials) {
  std::vector<double> values;
  for (const Trial* trial : trials) {
    const double value = trial->summary.metric_value();
    if (TrainedToItsEnd(trial->summary) && std::isfinite(value)) values.push_back(value);
  }
  const Trial& first = *trials.front();
  if (trials.size() == 1 || values.empty()) {
    const std::string outcome = ResultOf(first).outcome;
    if (!std::isfinite(first.summary.metric_value())) return outcome;
    const std::string text = FormatLoss(first.summary.metric_value());
    return TrainedToItsEnd(first.summary) ? text : absl::StrCat(text, " (", outcome, ")");
  }
  const Spread spread = SpreadOf(values);
  std::string text = FormatLoss(spread.mean);
  if (spread.n > 1) absl::StrAppend(&text, " ± ", FormatLoss(spread.deviation));
  if (spread.n < trials.size()) {
    absl::StrAppend(&text, " (", spread.n, " of ", Plural(trials.size(), "trial"), ")");
  }
  return text;
}

std::string GridCell(const Trial& trial, Loss shown, Perplexities perplexities) {
  const Result result = ResultOf(trial);
  if (RanOutOfMemory(trial.summary)) return result.outcome;
  const double loss = LossOf(result, shown);
  if (!std::isfinite(loss)) return result.outcome;
  std::vector<std::string> numbers = {FixedText(loss), FixedText(result.perplexity)};
  if (perplexities == Perplexities::kBoth) numbers.push_back(FixedText(result.perplexity_mean));
  numbers.push_back(FixedText(result.seconds_per_epoch));
  const std::string text = absl::StrJoin(numbers, " / ");
  return TrainedToItsEnd(trial.summary) ? text : absl::StrCat(text, " (", result.outcome, ")");
}

// Returns the cell of trials that differ only in their seed: means over those that trained all
// their steps, the loss with its deviation. If none did, the text of the first trial.
std::string GridCell(const std::vector<const Trial*>& trials, Loss shown,
                     Perplexities perplexities) {
  std::vector<double> losses;
  std::vector<double> means;
  std::vector<double> seconds;
  for (const Trial* trial : trials) {
    if (!TrainedToItsEnd(trial->summary)) continue;
    const Result result = ResultOf(*trial);
    losses.push_back(LossOf(result, shown));
    means.push_back(result.perplexity_mean);
    seconds.push_back(result.seconds_per_epoch);
  }
  const Spread loss = SpreadOf(losses);
  if (trials.size() == 1 || loss.n == 0) return GridCell(*trials.front(), shown, perplexities);
  std::vector<std::string> numbers = {FixedText(loss.mean), FixedText(std::exp(loss.mean))};
  if (loss.n > 1) absl::StrAppend(&numbers[0], " ± ", FixedText(loss.deviation));
  if (perplexities == Perplexities::kBoth) numbers.push_back(FixedText(SpreadOf(means).mean));
  numbers.push_back(FixedText(SpreadOf(seconds).mean));
  const std::string text = absl::StrJoin(numbers, " / ");
  return loss.n == trials.size()
             ? text
             : absl::StrCat(text, " (", loss.n, " of ", trials.size(), " trials)");
}

// Drops the seed, over which means are taken.
std::vector<SweptParameter> WithoutSeed(std::vector<SweptParameter> swept) {
  std::erase_if(swept, [](const SweptParameter& one) { return one.path == kSeed; });
  return swept;
}

// Returns the parameter on the x axis of figures; null if none is numeric.
const SweptParameter* HorizontalOf(const std::vector<SweptParameter>& swept) {
  const SweptParameter* chosen = nullptr;
  for (const SweptParameter& one : swept) {
    if (one.numbers.empty()) continue;
    if (one.path == kSequenceLength) return &one;
    if (chosen == nullptr || one.numbers.size() > chosen->numbers.size()) chosen = &one;
  }
  return chosen;
}

std::string WithUnit(const std::string& path) {
  return path == kSequenceLength ? path + " (tokens)" : path;
}

struct Plotted {
  std::string name;
  std::string label;
  std::function<double(const Result&)> value;
};

// Values of all seeds, by line and x.
using LinePlaces = std::map<std::pair<size_t, double>, std::vector<double>>;

// Returns all trials as one line. Values drawn from ranges are rarely equal, so the legend would
// name each trial separately.
ChartLine AllInOne(const std::vector<ChartLine>& lines, const LinePlaces& values,
                   const std::string& name) {
  ChartLine all{name, LookOf(0)};
  for (const auto& [place, of_seeds] : values) {
    all.marks.push_back({place.second, SpreadOf(of_seeds).mean});
  }
  for (const ChartLine& line : lines) {
    all.floor.insert(all.floor.end(), line.floor.begin(), line.floor.end());
  }
  return all;
}

// Returns nothing for fewer than two points.
std::optional<Figure> StudyFigure(const std::vector<Trial>& trials,
                                  const std::vector<SweptParameter>& swept, const SweptParameter& x,
                                  const Plotted& measure) {
  LineChart chart;
  std::map<std::string, size_t> index;
  std::vector<double> ys;
  LinePlaces values;
  std::set<std::pair<size_t, double>> places;  // lines and x of all trials
  for (const Trial& trial : trials) {
    const double at = NumberAt(trial.summary, x.path);
    if (!std::isfinite(at)) continue;
    const std::string name = OthersText(trial.summary, swept, x.path);
    const auto [found, added] = index.emplace(name, chart.lines.size());
    if (added)
      chart.lines.push_back({name.empty() ? measure.name : name, LookOf(chart.lines.size())});
    ChartLine& line = chart.lines[found->second];
    places.emplace(found->second, at);
    const double y = measure.value(ResultOf(trial));
    if (RanOutOfMemory(trial.summary)) {
      line.floor.push_back(at);
    } else if (TrainedToItsEnd(trial.summary) && std::isfinite(y)) {
      values[{found->second, at}].push_back(y);
      ys.push_back(y);
    }
  }
  const bool apart = chart.lines.size() > 2 && places.size() < 2 * chart.lines.size();
  if (apart) {
    chart.lines = {AllInOne(chart.lines, values, measure.name)};
    values.clear();
  }
  bool bars = false;
  for (const auto& [place, of_seeds] : values) {
    const Spread spread = SpreadOf(of_seeds);
    ChartLine& line = chart.lines[place.first];
    line.points.push_back({place.second, spread.mean});
    if (spread.n < 2) continue;
    bars = true;
    line.bars.push_back(
        {place.second, spread.mean - spread.deviation, spread.mean + spread.deviation});
  }
  if (ys.size() < 2 || chart.lines.size() > kLinesMax) return std::nullopt;
  chart.title = absl::StrCat(measure.name, " against ", x.path);
  chart.x_label = WithUnit(x.path);
  chart.y_label = measure.label;
  chart.x_scale = ChooseScale(x.numbers);
  chart.y_scale = ChooseScale(ys);
  if (!apart) chart.x_ticks = x.numbers;
  chart.markers = PointMarkers::kEach;
  chart.floor_name = apart ? "out of memory" : "out of memory (line's colour)";
  const char* note =
      apart  ? "Each point is a configuration; those side by side differ in other parameters too."
      : bars ? "Points are means over seeds, bars one standard deviation up and down."
             : "";
  return Figure{std::move(chart), note};
}

}  // namespace

Loss LossShown(const std::vector<Trial>& trials) {
  const bool evaluated = std::any_of(trials.begin(), trials.end(), [](const Trial& trial) {
    return std::isfinite(trial.summary.val_loss());
  });
  return evaluated ? Loss::kValidation : Loss::kTraining;
}

double LossOf(const Result& result, Loss loss) {
  return loss == Loss::kValidation ? result.val_loss : result.loss;
}

std::string LossName(Loss loss) {
  return loss == Loss::kValidation ? "validation loss" : "training loss of the last logged step";
}

std::optional<TextTable> StudyGrid(const std::vector<Trial>& trials, const std::string& metric) {
  std::vector<SweptParameter> swept = SweptIn(trials);
  if (swept.size() > 2) swept = WithoutSeed(std::move(swept));
  if (swept.size() != 2) return std::nullopt;
  const SweptParameter& down = swept[0];
  const SweptParameter& across = swept[1];
  std::map<std::pair<std::string, std::string>, std::vector<const Trial*>> cells;
  for (const Trial& trial : trials) {
    cells[{ValueAt(trial.summary, down.path), ValueAt(trial.summary, across.path)}].push_back(
        &trial);
  }
  // Values drawn from ranges are rarely equal: the table would have one trial in each row.
  if (2 * cells.size() < down.texts.size() * across.texts.size()) return std::nullopt;
  const Loss shown = LossShown(trials);
  const Perplexities perplexities = HasMean(trials) ? Perplexities::kBoth : Perplexities::kOne;
  TextTable table;
  const std::string numbers =
      !metric.empty()
          ? Printable(metric)
          : absl::StrCat(LossName(shown), " / perplexity",
                         perplexities == Perplexities::kBoth ? " / batch-mean perplexity" : "",
                         " / seconds per epoch");
  table.caption = absl::StrCat(numbers, "; ", down.path, " down, ", across.path, " across");
  table.header = {absl::StrCat(down.path, " ↓, ", across.path, " →")};
  table.header.insert(table.header.end(), across.texts.begin(), across.texts.end());
  for (const std::string& row : down.texts) {
    std::vector<std::string>& line = table.rows.emplace_back(1, row);
    for (const std::string& column : across.texts) {
      const auto found = cells.find({row, column});
      line.push_back(found == cells.end() ? "excluded"
                     : !metric.empty()    ? MetricCell(found->second)
                                          : GridCell(found->second, shown, perplexities));
    }
  }
  return table;
}

static void EraseColumn(TextTable& table, size_t column) {
  table.header.erase(table.header.begin() + static_cast<int64_t>(column));
  for (auto& row : table.rows) row.erase(row.begin() + static_cast<int64_t>(column));
}

// Drops columns of numbers without any value, except `but`. A program has no perplexity.
static void LeaveOutEmptyColumns(TextTable& table, const std::string& but) {
  for (size_t i = table.header.size(); i-- > table.text_columns;) {
    const bool empty = std::all_of(table.rows.begin(), table.rows.end(),
                                   [i](const auto& row) { return row[i] == kNone; });
    if (!empty || table.header[i] == but) continue;
    EraseColumn(table, i);
  }
}

// Returns a mark for the name of a trial.
static std::string MarkOf(const v1::TrialSummary& trial, bool best) {
  if (!trial.infeasible().empty()) return " (infeasible)";
  if (!trial.objectives().empty()) return trial.pareto() ? " (Pareto front)" : "";
  return best ? " (best)" : "";
}

TextTable TrialList(const Experiment& experiment) {
  const std::vector<SweptParameter> swept = SweptIn(experiment.trials);
  TextTable table;
  const std::vector<std::string> ours = {"outcome",
                                         "step",
                                         "loss",
                                         "validation loss",
                                         "best",
                                         "perplexity",
                                         "batch-mean perplexity",
                                         "epochs",
                                         "seconds per epoch",
                                         "tokens/s"};
  std::set<std::string> taken(ours.begin(), ours.end());
  table.header = {TakeFreeName("trial", "", taken)};
  for (const SweptParameter& one : swept) {
    table.header.push_back(TakeFreeName(one.path, kParameterColumn, taken));
  }
  table.text_columns = table.header.size() + 1;
  const v1::ExperimentSummary& summary = experiment.found.summary();
  const std::string& metric = summary.metric();
  const bool own_column = NeedsColumn(metric) && summary.metrics().empty();
  table.header.insert(table.header.end(), ours.begin(), ours.end());
  if (own_column) table.header.push_back(TakeFreeName(metric, kMetricColumn, taken));
  for (const std::string& objective : summary.metrics()) {
    table.header.push_back(TakeFreeName(objective, kMetricColumn, taken));
  }
  for (const Trial* one : BestFirst(experiment)) {
    const Trial& trial = *one;
    const Result result = ResultOf(trial);
    const bool best = trial.summary.trial() == experiment.found.summary().best_trial();
    if (best) table.marked = table.rows.size();
    std::vector<std::string>& row = table.rows.emplace_back(
        1, absl::StrCat(TrialName(trial.summary), MarkOf(trial.summary, best)));
    for (const SweptParameter& one : swept) row.push_back(ValueAt(trial.summary, one.path));
    for (std::string text :
         {result.word, StepText(trial.summary), FormatLoss(result.loss),
          FormatLoss(result.val_loss), BestText(trial.summary), FixedText(result.perplexity),
          FixedText(result.perplexity_mean), FixedText(result.epochs),
          FixedText(result.seconds_per_epoch), FormatRate(result.tokens_per_second)}) {
      row.push_back(std::move(text));
    }
    if (own_column) row.push_back(MetricText(trial.summary));
    const auto& values = trial.summary.objectives();
    for (int i = 0; i < summary.metrics_size(); ++i) {
      row.push_back(i < values.size() ? FormatLoss(values[i]) : kNone);
    }
  }
  // Each objective has a column with the same value as `best`.
  const auto best = std::find(table.header.begin(), table.header.end(), "best");
  if (!summary.metrics().empty() && best != table.header.end()) {
    EraseColumn(table, static_cast<size_t>(best - table.header.begin()));
  }
  if (spec::IsProgram(experiment.found.spec())) LeaveOutEmptyColumns(table, metric);
  return table;
}

std::vector<Figure> StudyFigures(const std::vector<Trial>& trials, const std::string& metric) {
  const std::vector<SweptParameter> swept = WithoutSeed(SweptIn(trials));
  const SweptParameter* x = HorizontalOf(swept);
  std::vector<Figure> figures;
  if (x == nullptr) return figures;
  const Loss shown = LossShown(trials);
  const std::vector<Plotted> of_program = {
      {Printable(metric), Printable(metric), [](const Result& result) { return result.metric; }}};
  const std::vector<Plotted> of_model = {
      {LossName(shown), LossName(shown) + " (nats per token)",
       [shown](const Result& result) { return LossOf(result, shown); }},
      {"seconds per epoch", "seconds per epoch",
       [](const Result& result) { return result.seconds_per_epoch; }}};
  for (const Plotted& measure : metric.empty() ? of_model : of_program) {
    if (auto figure = StudyFigure(trials, swept, *x, measure)) {
      figures.push_back(*std::move(figure));
    }
  }
  return figures;
}

}  // namespace dt::report
