#include "report/page/batch_size.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/arithmetic.h"
#include "report/analysis/results.h"
#include "report/page/study.h"
#include "report/words/format.h"
#include "report/words/summary.h"

namespace dt::report {
namespace {

// Minimum for a fit: fewer batch sizes show no law.
constexpr size_t kBatchesMin = 3;
// Number of stretches whose mean losses are searched for the step that reaches a loss. The loss of
// a single step of a small batch can dip far below the trend.
constexpr size_t kStretches = 20;

std::string Tokens(double tokens) {
  return std::isfinite(tokens) ? FormatCount(BoundedInteger<uint64_t>(std::round(tokens))) : kNone;
}

double BatchOf(const Trial& trial) { return static_cast<double>(trial.summary.tokens_per_step()); }

// ---- the noise scale ----

std::vector<const Trial*> WithNoise(const Experiment& experiment) {
  std::vector<const Trial*> found;
  for (const Trial* trial : BestFirst(experiment)) {
    if (!trial->noise_by_tokens.empty() && found.size() < kLinesMax) found.push_back(trial);
  }
  return found;
}

Figure NoiseFigure(const std::vector<const Trial*>& trials) {
  LineChart chart;
  chart.title = "Gradient noise scale";
  chart.x_label = "tokens trained";
  chart.y_label = "tokens";
  std::vector<double> ys;
  for (const Trial* trial : trials) {
    ChartLine& line = chart.lines.emplace_back();
    line.name = LineName(trial->summary);
    line.look = LookOf(chart.lines.size() - 1);
    line.points = trial->noise_by_tokens;
    for (const Point& point : line.points) ys.push_back(point.y);
  }
  chart.y_scale = ChooseScale(ys);
  return {std::move(chart),
          "About the critical batch, at that point of the training; it grows as the loss falls. "
          "Measured at every eighth logged step, and smoothed over about 20 measures."};
}

TextTable NoiseTable(const Experiment& experiment) {
  TextTable table;
  table.caption =
      "B: tokens of a step; N: the gradient noise scale at the last measure. What follows of them "
      "for this batch: steps to a loss, against the fewest possible, and tokens, against the "
      "fewest";
  table.header = {
      "trial", "parameters", "B", "N", "B ÷ N", "steps: 1 + N ÷ B", "tokens: 1 + B ÷ N"};
  table.text_columns = 2;
  for (const Trial& trial : experiment.trials) {
    if (trial.noise_by_tokens.empty()) continue;
    const double batch = BatchOf(trial);
    const double noise = trial.noise_by_tokens.back().y;
    table.rows.push_back({TrialName(trial.summary), AssignmentsText(trial.summary), Tokens(batch),
                          Tokens(noise), absl::StrFormat("%.2f", batch / noise),
                          absl::StrFormat("%.2f×", 1 + noise / batch),
                          absl::StrFormat("%.2f×", 1 + batch / noise)});
  }
  return table;
}

// ---- steps to a loss ----

bool IsBatch(const std::string& path) {
  return path == "train.batch_size" || path == "train.global_batch_size" ||
         path == "train.global_batch_tokens";
}

// Returns whether the field may differ besides the batch. The best trial at each batch counts, as
// with a learning rate chosen for that batch.
bool MayDiffer(const std::string& path) {
  return path == "seed" || path == "resources.gpus" || absl::StartsWith(path, "optimizer.") ||
         absl::StartsWith(path, "schedule.");
}

bool ComparesBatches(const std::vector<SweptParameter>& swept) {
  const auto all = [&swept](const auto& is) { return std::all_of(swept.begin(), swept.end(), is); };
  return !all([](const SweptParameter& one) { return !IsBatch(one.path); }) &&
         all([](const SweptParameter& one) { return IsBatch(one.path) || MayDiffer(one.path); });
}

std::vector<Point> Smoothed(const Trial& trial) { return Means(trial.mean_by_step, kStretches); }

double Lowest(const std::vector<Point>& points) {
  double lowest = std::numeric_limits<double>::infinity();
  for (const Point& point : points) lowest = std::min(lowest, point.y);
  return lowest;
}

// Returns the step at which the line first reaches `loss`, or infinity.
double StepAt(const std::vector<Point>& points, double loss) {
  for (size_t i = 0; i < points.size(); ++i) {
    if (points[i].y > loss) continue;
    if (i == 0) return points[0].x;
    const Point& before = points[i - 1];
    const double part = (before.y - loss) / (before.y - points[i].y);
    return before.x + part * (points[i].x - before.x);
  }
  return std::numeric_limits<double>::infinity();
}

struct Reached {
  double loss = 0;
  std::vector<StepsToLoss> batches;     // rising
  std::vector<const Trial*> by_trials;  // first to reach the loss, one a batch
};

// Returns the lowest loss that every batch size reached, with the first trial of each to reach it.
Reached ReachedIn(const Experiment& experiment) {
  Reached reached;
  if (!ComparesBatches(SweptIn(experiment.trials))) return reached;
  std::map<double, std::vector<const Trial*>> by_batch;
  for (const Trial& trial : experiment.trials) {
    if (BatchOf(trial) > 0 && trial.mean_by_step.size() > 1) {
      by_batch[BatchOf(trial)].push_back(&trial);
    }
  }
  if (by_batch.size() < kBatchesMin) return reached;
  reached.loss = -std::numeric_limits<double>::infinity();
  for (const auto& [batch, trials] : by_batch) {
    double best = std::numeric_limits<double>::infinity();
    for (const Trial* trial : trials) best = std::min(best, Lowest(Smoothed(*trial)));
    reached.loss = std::max(reached.loss, best);
  }
  for (const auto& [batch, trials] : by_batch) {
    const auto steps = [&](const Trial* trial) { return StepAt(Smoothed(*trial), reached.loss); };
    const Trial* first =
        *std::min_element(trials.begin(), trials.end(),
                          [&](const Trial* a, const Trial* b) { return steps(a) < steps(b); });
    reached.batches.push_back({batch, steps(first)});
    reached.by_trials.push_back(first);
  }
  return reached;
}

Figure ReachedFigure(const Reached& reached, const std::optional<BatchFit>& fit) {
  LineChart chart;
  chart.title = absl::StrCat("Steps and tokens to a loss of ", FormatLoss(reached.loss));
  chart.x_label = "tokens";
  chart.y_label = "optimizer steps";
  chart.x_scale = chart.y_scale = Scale::kLog;
  chart.marks_name = "one batch size each";
  ChartLine& measured = chart.lines.emplace_back();
  measured.name = "measured";
  measured.look = LookOf(0);
  for (const StepsToLoss& one : reached.batches) {
    measured.marks.push_back({one.batch * one.steps, one.steps});
  }
  if (fit.has_value()) {
    ChartLine& line = chart.lines.emplace_back();
    line.name = "fit";
    line.look = LookOf(1);
    const double low = std::log(reached.batches.front().batch);
    const double high = std::log(reached.batches.back().batch);
    constexpr int kPoints = 40;
    for (int i = 0; i <= kPoints; ++i) {
      const double batch = std::exp(low + (high - low) * i / kPoints);
      const double steps = fit->least_steps + fit->least_tokens / batch;
      line.points.push_back({batch * steps, steps});
    }
  }
  return {
      std::move(chart),
      "From the smallest batch above left to the largest below right, at each the trial that was "
      "there first. A loss is the mean of a twentieth of a training."};
}

TextTable ReachedTable(const Reached& reached) {
  TextTable table;
  table.caption = absl::StrCat("To a training loss of ", FormatLoss(reached.loss),
                               ", the lowest that every batch size came to");
  table.header = {"trial", "parameters", "tokens a step", "steps", "tokens"};
  table.text_columns = 2;
  for (size_t i = 0; i < reached.batches.size(); ++i) {
    const StepsToLoss& one = reached.batches[i];
    const v1::TrialSummary& trial = reached.by_trials[i]->summary;
    table.rows.push_back({TrialName(trial), AssignmentsText(trial), Tokens(one.batch),
                          Tokens(one.steps), Tokens(one.batch * one.steps)});
  }
  return table;
}

std::string CriticalText(const std::optional<BatchFit>& fit) {
  if (!fit.has_value()) {
    return "The batch sizes show no critical batch: sweep more of them, smaller and larger.";
  }
  return absl::StrCat("Critical batch, by these steps: ", Tokens(fit->Critical()),
                      " tokens. At least ", Tokens(fit->least_steps),
                      " steps with ever larger "
                      "batches, and ",
                      Tokens(fit->least_tokens),
                      " tokens with ever smaller ones; "
                      "at the critical batch twice as many of each.");
}

}  // namespace

std::optional<BatchFit> FitBatches(const std::vector<StepsToLoss>& reached) {
  if (reached.size() < kBatchesMin) return std::nullopt;
  // Fits S ÷ S_i = 1 with S = a + b x, x = 1 / B_i, a = S_min and b = E_min.
  double aa = 0, ab = 0, bb = 0, a1 = 0, b1 = 0;
  for (const StepsToLoss& one : reached) {
    if (!(one.batch > 0) || !(one.steps > 0) || !std::isfinite(one.steps)) return std::nullopt;
    const double a = 1 / one.steps;
    const double b = 1 / (one.batch * one.steps);
    aa += a * a;
    ab += a * b;
    bb += b * b;
    a1 += a;
    b1 += b;
  }
  const double determinant = aa * bb - ab * ab;
  if (!(determinant > 0)) return std::nullopt;
  const BatchFit fit{(a1 * bb - b1 * ab) / determinant, (b1 * aa - a1 * ab) / determinant};
  if (!(fit.least_steps > 0) || !(fit.least_tokens > 0)) return std::nullopt;
  // A critical batch further from the measured batches cannot be seen in them.
  constexpr double kBeyond = 100;
  const auto [low, high] = std::minmax_element(
      reached.begin(), reached.end(),
      [](const StepsToLoss& a, const StepsToLoss& b) { return a.batch < b.batch; });
  const bool near = fit.Critical() > low->batch / kBeyond && fit.Critical() < high->batch * kBeyond;
  return near ? std::optional(fit) : std::nullopt;
}

void AppendBatchSize(const Experiment& experiment, Document& document) {
  const std::vector<const Trial*> noisy = WithNoise(experiment);
  const Reached reached = ReachedIn(experiment);
  if (noisy.empty() && reached.batches.empty()) return;
  document.blocks.push_back(Heading{"Batch size"});
  document.blocks.push_back(Paragraph{
      "With a learning rate chosen for each batch, the steps to a loss are S_min (1 + B_crit ÷ B) "
      "and the tokens E_min (1 + B ÷ B_crit): a batch B far below the critical one saves steps "
      "almost for nothing, and one far above it costs tokens almost for nothing. The gradient "
      "noise scale is about B_crit (McCandlish et al., An Empirical Model of Large-Batch Training, "
      "2018, arXiv:1812.06162)."});
  if (!reached.batches.empty()) {
    const std::optional<BatchFit> fit = FitBatches(reached.batches);
    document.blocks.push_back(ReachedFigure(reached, fit));
    document.blocks.push_back(ReachedTable(reached));
    document.blocks.push_back(Paragraph{CriticalText(fit)});
  }
  if (!noisy.empty()) {
    document.blocks.push_back(NoiseFigure(noisy));
    document.blocks.push_back(NoiseTable(experiment));
  }
}

}  // namespace dt::report
