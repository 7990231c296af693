#include "report/page/sections.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "report/analysis/configurations.h"
#include "report/analysis/replicates.h"
#include "report/analysis/results.h"
#include "report/page/batch_size.h"
#include "report/page/chart_columns.h"
#include "report/page/collectives.h"
#include "report/page/evaluations.h"
#include "report/page/insight.h"
#include "report/page/layout.h"
#include "report/page/search_pictures.h"
#include "report/page/speed.h"
#include "report/page/study.h"
#include "report/page/takeovers.h"
#include "report/words/format.h"
#include "report/words/ranking.h"
#include "report/words/summary.h"
#include "spec/program.h"
#include "spec/spec.h"

namespace dt::report {
namespace {

// Upper bound on the lines or bars of a figure, so that a reader can tell them apart. The best
// trials are drawn.
constexpr size_t kDrawnMax = kLinesMax;

// Returns the newest time in the data.
int64_t AsOf(const Experiment& experiment) {
  const v1::ExperimentSummary& summary = experiment.found.summary();
  int64_t newest = std::max(summary.submitted_wall_ms(), summary.ended_wall_ms());
  for (const Trial& trial : experiment.trials) {
    newest = std::max({newest, trial.newest_wall_ms, trial.summary.ended_wall_ms()});
  }
  return newest;
}

std::string CountsText(const Experiment& experiment) {
  const v1::ExperimentSummary& summary = experiment.found.summary();
  const auto early = static_cast<uint32_t>(
      std::count_if(experiment.trials.begin(), experiment.trials.end(),
                    [](const Trial& trial) { return StoppedEarly(trial.summary); }));
  std::string text =
      absl::StrCat(FormatCount(summary.finished()), " of ", Plural(summary.trials(), "trial"),
                   " finished, ", FailedText(summary));
  for (const auto& [count, word] :
       {std::pair(summary.cancelled(), "cancelled"), std::pair(summary.running(), "running"),
        std::pair(summary.pending(), "waiting"), std::pair(early, "stopped early")}) {
    if (count > 0) absl::StrAppend(&text, ", ", FormatCount(count), " ", word);
  }
  return text;
}

// Returns whether rows have losses: a program may log rows without one.
bool HasLosses(const Trial& trial) { return !trial.loss_by_step.empty(); }

// Returns the trials with logged losses, the best first, as many as can be drawn.
std::vector<const Trial*> Drawn(const Experiment& experiment) {
  std::vector<const Trial*> drawn;
  for (const Trial* trial : BestFirst(experiment)) {
    if (HasLosses(*trial) && drawn.size() < kDrawnMax) drawn.push_back(trial);
  }
  return drawn;
}

std::string LeftOut(const Experiment& experiment, size_t drawn) {
  const auto logged = std::count_if(experiment.trials.begin(), experiment.trials.end(), HasLosses);
  return LeftOutNote(drawn, static_cast<size_t>(logged), " trials");
}

// Returns the look of a trial. In a grid of two parameters, the colour shows the first one, dashes
// and markers the second.
Look TrialLook(const Trial& trial, const std::vector<SweptParameter>& swept, size_t number) {
  if (swept.size() != 2) return LookOf(number);
  const auto index = [&trial](const SweptParameter& parameter) {
    const auto& texts = parameter.texts;
    const auto found =
        std::find(texts.begin(), texts.end(), ValueAt(trial.summary, parameter.path));
    return static_cast<size_t>(found - texts.begin());
  };
  return {index(swept[0]), index(swept[1])};
}

// Returns the looks of the curves of `drawn`, the best first. Few have a colour each. Many are
// coloured by rank, as on the page: the best, the best quarter of all trials, and the others.
std::vector<Look> CurveLooks(const Experiment& experiment, const std::vector<const Trial*>& drawn) {
  constexpr Look kBest = {.colour = 1};
  constexpr Look kGood = {.colour = 0};
  constexpr Look kOther = {.colour = 7, .dim = true};
  const std::vector<SweptParameter> swept = SweptIn(experiment.trials);
  std::vector<const Trial*> good = Valued(experiment);
  good.resize(std::min(good.size(), QuarterOf(good)));
  std::vector<Look> looks;
  for (const Trial* trial : drawn) {
    if (drawn.size() <= kColours) {
      looks.push_back(TrialLook(*trial, swept, looks.size()));
    } else if (trial->summary.trial() == experiment.found.summary().best_trial()) {
      looks.push_back(kBest);
    } else {
      looks.push_back(std::find(good.begin(), good.end(), trial) != good.end() ? kGood : kOther);
    }
  }
  return looks;
}

// Returns what the colours mean; "" where each curve has its own.
std::string CurveColours(size_t lines) {
  return lines <= kColours ? "" : " Orange is the best, blue the best quarter, grey the others.";
}

struct CurveParts {
  const std::vector<Point> Trial::*all;
  const std::vector<Point> Trial::*means;
  const std::vector<Point> Trial::*validation;
};

// Returns the label of losses. The unit of a program's loss is unknown.
std::string LossUnit(const Experiment& experiment) {
  return MetricOfProgram(experiment).empty() ? "loss (nats per token)" : "loss";
}

// Returns the parameters that differ between trials, without the seed.
std::vector<SweptParameter> SweptBesidesSeed(const Experiment& experiment) {
  std::vector<SweptParameter> swept = SweptIn(experiment.trials);
  std::erase_if(swept, [](const SweptParameter& one) { return one.path == kSeed; });
  return swept;
}

// Returns the curves of an experiment with several seeds: for each configuration a line, with a
// shade around it. `configurations` has the best first.
Figure SeedsCurveFigure(const Experiment& experiment,
                        const std::vector<Configuration>& configurations, const CurveParts& parts,
                        LineChart chart) {
  std::map<uint32_t, const Trial*> by_number;
  for (const Trial& trial : experiment.trials) by_number[trial.summary.trial()] = &trial;
  const std::vector<SweptParameter> swept = SweptBesidesSeed(experiment);
  std::vector<double> ys;
  size_t logged = 0;
  for (const Configuration& one : configurations) {
    std::vector<std::vector<Point>> losses;
    std::vector<std::vector<Point>> validations;
    for (const v1::TrialSummary* summary : one.trials) {
      const Trial& trial = *by_number.at(summary->trial());
      if (trial.logged == 0) continue;
      losses.push_back(trial.*parts.means);
      validations.push_back(trial.*parts.validation);
    }
    if (losses.empty() || ++logged > kDrawnMax) continue;
    MeanCurve curve = MeanCurveOf(losses);
    for (const Point& point : curve.mean) ys.push_back(point.y);
    ChartLine& line = chart.lines.emplace_back();
    line.name = ConfigurationLineName(one);
    line.look = TrialLook(*by_number.at(one.trials[0]->trial()), swept, chart.lines.size() - 1);
    line.points = std::move(curve.mean);
    line.band = std::move(curve.band);
    line.marks = MeanCurveOf(validations).mean;
  }
  chart.y_label = LossUnit(experiment);
  chart.y_scale = ChooseScale(ys);
  chart.marks_name = "validation";
  std::string note = absl::StrCat(
      "Each line is the mean over the seeds of a configuration, of training losses that are means "
      "of ",
      kMeansPerLine,
      " stretches; the shade is one sample standard deviation to both sides, where two seeds or "
      "more have come. Markers are means of validation losses.");
  if (logged > kDrawnMax) {
    absl::StrAppend(&note, " Only the ", kDrawnMax, " best of ", FormatCount(logged),
                    " configurations are drawn.");
  }
  return {std::move(chart), std::move(note)};
}

Figure CurveFigure(const Experiment& experiment, const CurveParts& parts, LineChart chart) {
  const std::vector<const Trial*> drawn = Drawn(experiment);
  const std::vector<Look> looks = CurveLooks(experiment, drawn);
  std::vector<double> ys;
  size_t most = 0;
  uint64_t rows = 0;
  for (const Trial* trial : drawn) {
    ChartLine& line = chart.lines.emplace_back();
    line.name = LineName(trial->summary);
    line.look = looks[chart.lines.size() - 1];
    line.points = trial->*parts.means;
    line.marks = trial->*parts.validation;
    if (line.points != trial->*parts.all) line.faint = trial->*parts.all;
    for (const Point& point : trial->*parts.all) ys.push_back(point.y);
    most = std::max(most, (trial->*parts.all).size());
    rows = std::max(rows, trial->logged);
  }
  chart.y_label = LossUnit(experiment);
  chart.y_scale = ChooseScale(ys);
  chart.marks_name = "validation";
  std::string note = absl::StrCat(
      "Training loss as a line, through the means of ", kMeansPerLine,
      " stretches; validation loss as markers. The faint line has at most ", FormatCount(most),
      " of up to ", FormatCount(rows), " logged points, the lowest and highest included.",
      LeftOut(experiment, drawn.size()), CurveColours(drawn.size()));
  chart.first_on_top = drawn.size() > kColours;
  return {std::move(chart), std::move(note)};
}

// Returns whether trials differ in the tokens of a step. Otherwise loss over tokens would repeat
// loss over steps.
bool StepsDifferInTokens(const Experiment& experiment) {
  std::set<uint64_t> sizes;
  for (const Trial* trial : Drawn(experiment)) sizes.insert(trial->summary.tokens_per_step());
  sizes.erase(0);
  return sizes.size() > 1;
}

void AppendCurves(const Experiment& experiment, Document& document) {
  if (Drawn(experiment).empty()) return;
  std::vector<v1::TrialSummary> summaries;
  for (const Trial& trial : experiment.trials) summaries.push_back(trial.summary);
  std::vector<Configuration> configurations = ConfigurationsOf(summaries);
  BestFirst(configurations, GoalOf(experiment.found.summary().goal()));
  const auto figure = [&](const CurveParts& parts, LineChart chart) {
    return HasReplicates(configurations)
               ? SeedsCurveFigure(experiment, configurations, parts, std::move(chart))
               : CurveFigure(experiment, parts, std::move(chart));
  };
  LineChart steps;
  steps.title = "Loss over steps";
  steps.x_label = "optimizer step";
  document.blocks.push_back(
      figure({&Trial::loss_by_step, &Trial::mean_by_step, &Trial::val_by_step}, std::move(steps)));
  if (StepsDifferInTokens(experiment)) {
    LineChart tokens;
    tokens.title = "Loss over tokens";
    tokens.x_label = "tokens trained";
    document.blocks.push_back(
        figure({&Trial::loss_by_tokens, &Trial::mean_by_tokens, &Trial::val_by_tokens},
               std::move(tokens)));
  }
  LineChart time;
  time.title = "Loss over time";
  time.x_label = "seconds in training, evaluations included, waits left out";
  document.blocks.push_back(
      figure({&Trial::loss_by_time, &Trial::mean_by_time, &Trial::val_by_time}, std::move(time)));
}

// Adds the curve of the metric that trials are compared by, unless it is a loss, which the figures
// above show.
void AppendMetricCurve(const Experiment& experiment, Document& document) {
  const std::string metric = Printable(experiment.found.summary().metric());
  LineChart chart;
  std::vector<double> ys;
  std::vector<const Trial*> drawn = BestFirst(experiment);
  std::erase_if(drawn, [](const Trial* trial) { return trial->metric_by_step.empty(); });
  const size_t with_values = drawn.size();
  if (drawn.empty()) return;
  drawn.resize(std::min(drawn.size(), kDrawnMax));
  const std::vector<Look> looks = CurveLooks(experiment, drawn);
  for (const Trial* trial : drawn) {
    ChartLine& line = chart.lines.emplace_back();
    line.name = LineName(trial->summary);
    line.look = looks[chart.lines.size() - 1];
    line.points = trial->metric_by_step;
    for (const Point& point : line.points) ys.push_back(point.y);
  }
  chart.first_on_top = drawn.size() > kColours;
  chart.title = absl::StrCat(metric, " over steps");
  chart.x_label = "step";
  chart.y_label = metric;
  chart.y_scale = ChooseScale(ys);
  chart.markers = PointMarkers::kEach;
  document.blocks.push_back(Figure{
      std::move(chart),
      absl::StrCat("As each evaluation reported it.",
                   LeftOutNote(kDrawnMax, with_values, " trials"), CurveColours(drawn.size()))});
}

// Returns whether some trial has a curve of the metric that is no loss.
bool HasMetricCurve(const Experiment& experiment) {
  return std::any_of(experiment.trials.begin(), experiment.trials.end(),
                     [](const Trial& trial) { return !trial.metric_by_step.empty(); });
}

// Adds the search metric over steps; for a loss, the loss curves.
void AppendSearchCurves(const Experiment& experiment, Document& document) {
  if (HasMetricCurve(experiment)) {
    AppendMetricCurve(experiment, document);
  } else {
    AppendCurves(experiment, document);
  }
}

// Adds the results of the trials: tables, figures of a study, and configurations over their seeds.
void AppendTrials(const Experiment& experiment, Document& document) {
  const std::string metric = MetricOfProgram(experiment);
  if (auto grid = StudyGrid(experiment.trials, metric)) document.blocks.push_back(*std::move(grid));
  document.blocks.push_back(TrialList(experiment));
  document.blocks.push_back(Paragraph{
      experiment.found.summary().metrics().empty() || metric.empty()
          ? MeasuresNote(metric)
          : "Values of the objectives are the newest. A dash means that a value is not known."});
  for (Figure& figure : StudyFigures(experiment.trials, metric)) {
    document.blocks.push_back(std::move(figure));
  }
  AppendSeeds(experiment, document);
}

using Section = void (*)(const Experiment&, Document&);

// Adds a heading and what `append` adds below it; nothing if that is nothing.
void AppendUnder(const std::string& heading, Section append, const Experiment& experiment,
                 Document& document) {
  const size_t before = document.blocks.size();
  document.blocks.push_back(Heading{heading});
  append(experiment, document);
  if (document.blocks.size() == before + 1) document.blocks.pop_back();
}

// Pictures of layout.h that a report has. The page alone has a scatter plot, whose axes a person
// chooses, and a timeline, which a report has as its table of attempts.
constexpr std::pair<std::string_view, Section> kPictures[] = {
    {"Curves", AppendSearchCurves}, {"Best so far", AppendBestSoFar},
    {"Trials", AppendTrials},       {"Slices", AppendSlices},
    {"Contour", AppendContour},     {"Parallel coordinates", AppendParallel},
    {"Pareto front", AppendFront},  {"Importance", AppendImportance}};

void AppendPictures(const Experiment& experiment, Document& document) {
  for (const std::string& name : Layout()) {
    for (const auto& [picture, append] : kPictures) {
      if (picture == name) AppendUnder(name, append, experiment, document);
    }
  }
}

void AppendAttempts(const Experiment& experiment, Document& document) {
  TextTable table;
  table.header = {"attempt", "ended as", "why", "from step", "to step", "seconds"};
  table.text_columns = 3;
  for (const Trial& trial : experiment.trials) {
    for (const v1::AttemptSummary& one : trial.attempts) {
      const bool ended = one.ended_wall_ms() != 0;
      const double seconds =
          static_cast<double>(one.ended_wall_ms() - one.started_wall_ms()) / 1000;
      table.rows.push_back({absl::StrCat(TrialName(trial.summary), "#", one.attempt()),
                            ended ? api::Word(one.cause()) : "running",
                            one.message().empty() ? kNone : one.message(),
                            absl::StrCat(one.resumed_step()), absl::StrCat(one.last_step()),
                            ended ? absl::StrFormat("%.1f", seconds) : kNone});
    }
  }
  if (table.rows.empty()) return;
  if (experiment.without_attempts > 0) {
    table.caption =
        absl::StrCat("Without those of the last ", Plural(experiment.without_attempts, "trial"));
  }
  document.blocks.push_back(Heading{"Attempts"});
  document.blocks.push_back(std::move(table));
}

// Returns the provenance of a program's trials, which use neither LibTorch nor our data.
TextTable ProgramProvenance(const Experiment& experiment) {
  TextTable table;
  table.caption = "Software, devices and seeds of the trials";
  table.header = {"trial", "build", "device", "host", "ranks", "seed"};
  table.text_columns = 4;
  for (const Trial& trial : experiment.trials) {
    const v1::Provenance& from = trial.summary.provenance();
    if (from.program_version().empty()) continue;  // has never been prepared
    table.rows.push_back({TrialName(trial.summary), BuildText(from),
                          absl::StrCat(trial.summary.device(),
                                       from.device_name().empty() ? "" : ", ", from.device_name()),
                          from.host(), absl::StrCat(trial.summary.world_size()),
                          absl::StrCat(trial.summary.seed())});
  }
  return table;
}

TextTable ProvenanceTable(const Experiment& experiment) {
  if (spec::IsProgram(experiment.found.spec())) return ProgramProvenance(experiment);
  TextTable table;
  table.caption = "Software, devices, fingerprints of the data, and seeds of the trials";
  table.header = {"trial", "build", "LibTorch",       "device", "host",
                  "data",  "ranks", "threads a rank", "seed"};
  table.text_columns = 6;
  for (const Trial& trial : experiment.trials) {
    const v1::Provenance& from = trial.summary.provenance();
    if (from.program_version().empty()) continue;  // has never been prepared
    table.rows.push_back({TrialName(trial.summary), BuildText(from), TorchText(from),
                          absl::StrCat(trial.summary.device(), ", ", from.device_name()),
                          from.host(), trial.summary.data_fingerprint(),
                          absl::StrCat(trial.summary.world_size()), absl::StrCat(from.threads()),
                          absl::StrCat(trial.summary.seed())});
  }
  return table;
}

}  // namespace

Facts HeadFacts(const Experiment& experiment) {
  const v1::ExperimentSummary& summary = experiment.found.summary();
  const v1::ExperimentSpec& spec = experiment.found.spec();
  Facts facts;
  facts.rows.emplace_back("experiment",
                          absl::StrCat(summary.experiment(), ", ", Printable(summary.name())));
  facts.rows.emplace_back("description", spec.description());
  facts.rows.emplace_back("state", StateText(summary));
  facts.rows.emplace_back("trials", CountsText(experiment));
  facts.rows.emplace_back("submitted", UtcText(summary.submitted_wall_ms()));
  facts.rows.emplace_back("ended", UtcText(summary.ended_wall_ms()));
  facts.rows.emplace_back("data as of", UtcText(AsOf(experiment)));
  facts.rows.emplace_back("goal", GoalsText(summary));
  facts.rows.emplace_back("Pareto front", FrontText(summary));
  facts.rows.emplace_back("constraints", ConstraintsText(summary));
  const auto best = std::find_if(
      experiment.trials.begin(), experiment.trials.end(),
      [&](const Trial& trial) { return trial.summary.trial() == summary.best_trial(); });
  if (best != experiment.trials.end() && summary.metrics().empty()) {
    facts.rows.emplace_back("best trial",
                            absl::StrCat(LineName(best->summary), ": ", summary.metric(), " ",
                                         FormatLoss(summary.best_value())));
    const Goal goal = GoalOf(summary.goal());
    std::vector<v1::TrialSummary> summaries;
    for (const Trial& trial : experiment.trials) summaries.push_back(trial.summary);
    facts.rows.emplace_back(
        "but", BetterButEarlyText(Ranked(summaries, goal, EarlyOf(spec)), goal, summary.metric()));
  }
  for (const v1::Label& label : summary.labels()) {
    facts.rows.emplace_back("label", absl::StrCat(label.key(), "=", label.value()));
  }
  return facts;
}

std::string MeasuresNote(const std::string& metric) {
  if (!metric.empty()) {
    return absl::StrCat("Best is the best value of ", Printable(metric),
                        ", which the program reported, with its step. A dash means that a value is "
                        "not known.");
  }
  return "Perplexity is exp(validation loss), the loss being the mean over the evaluated tokens; "
         "batch-mean perplexity is the mean of exp(loss) over the evaluated batches, which some "
         "studies print and which is never lower where these are equally large. Validation loss "
         "is that of a trial's last evaluation, best the best value of the metric that trials are "
         "compared by, with its step. Seconds per "
         "epoch are wall seconds of the training "
         "steps, without evaluations and checkpoints, for as many tokens as the training data has. "
         "A dash means that a value is not known.";
}

void AppendConfiguration(const Experiment& experiment, const std::string& heading,
                         Document& document) {
  document.blocks.push_back(Heading{heading});
  const v1::GetExperimentResponse& found = experiment.found;
  if (!found.file_text().empty()) {
    document.blocks.push_back(
        Verbatim{absl::StrCat("As submitted, from ", found.file_name()), found.file_text()});
  }
  document.blocks.push_back(
      Verbatim{"Resolved: every default filled in, but for what differs between trials",
               spec::ToYaml(spec::FilledIn(found.spec()))});
  TextTable provenance = ProvenanceTable(experiment);
  if (!provenance.rows.empty()) document.blocks.push_back(std::move(provenance));
}

Document ExperimentReport(const Experiment& experiment) {
  const v1::ExperimentSummary& summary = experiment.found.summary();
  Document document;
  document.title = absl::StrCat(Printable(summary.name()), ": experiment ", summary.experiment());
  document.blocks.push_back(HeadFacts(experiment));
  AppendPictures(experiment, document);
  AppendTakeovers(experiment, document);
  if (HasMetricCurve(experiment)) {
    AppendUnder("Loss while training", AppendCurves, experiment, document);
  }
  AppendAccuracies(experiment, document);
  AppendSamples(experiment, document);
  AppendBatchSize(experiment, document);
  AppendStepTime(experiment, document);
  AppendCollectives(experiment, document);
  AppendMemory(experiment, document);
  AppendScaling(experiment, document);
  AppendConfiguration(experiment, "Configuration", document);
  AppendAttempts(experiment, document);
  return document;
}

}  // namespace dt::report
