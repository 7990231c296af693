// report_commands.cc: dtctl report | plot: an experiment as a file, and as curves on the terminal.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/commands/command_tree.h"
#include "cli/view/glyphs.h"
#include "cli/view/metric_rows.h"
#include "cli/view/text_plot.h"
#include "cli/view/words.h"
#include "common/limits.h"
#include "common/status.h"
#include "common/text.h"
#include "report/analysis/replicates.h"
#include "report/analysis/results.h"
#include "report/page/compare.h"
#include "report/page/results_csv.h"
#include "report/page/sections.h"

namespace dt::cli {
namespace {

// Upper bound on the trials whose attempts are fetched. Each costs a call of a few milliseconds, so
// more would make the report of a huge grid slow.
constexpr size_t kAttemptTrialsMax = 1000;

enum class FileKind { kHtml, kMarkdown, kCsv };

struct ReportOptions {
  std::vector<std::string> experiments;
  std::string output;
  std::string format;
};

// Returns the format by the file's ending. Errors: InvalidArgument for an unknown ending.
absl::StatusOr<FileKind> KindOf(const ReportOptions& options) {
  std::string word = options.format;
  const bool to_stdout = options.output.empty() || options.output == "-";
  if (word.empty() && to_stdout) return FileKind::kMarkdown;
  if (word.empty()) {
    word = std::filesystem::path(options.output).extension().string();
    word = absl::AsciiStrToLower(word.empty() ? word : word.substr(1));
  }
  if (word == "html" || word == "htm") return FileKind::kHtml;
  if (word == "md" || word == "markdown") return FileKind::kMarkdown;
  if (word == "csv") return FileKind::kCsv;
  if (!options.format.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--format is '", Printable(word), "'; it must be html, md or csv"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", Printable(options.output),
                   "' does not say what to write; let it end in .html, .md or .csv, or add "
                   "--format"));
}

absl::Status FetchAttempts(Client& client, report::Experiment& experiment) {
  for (size_t i = 0; i < experiment.trials.size(); ++i) {
    if (i == kAttemptTrialsMax) {
      experiment.without_attempts = experiment.trials.size() - i;
      break;
    }
    report::Trial& trial = experiment.trials[i];
    if (trial.summary.attempts() == 0) continue;
    const Selector selector{false, trial.summary.experiment(), trial.summary.trial()};
    DT_ASSIGN_OR_RETURN(const auto found,
                        client.ExplainTrial(Select<v1::ExplainTrialRequest>(selector)));
    trial.attempts.assign(found.attempts().begin(), found.attempts().end());
    trial.takeovers.assign(found.takeovers().begin(), found.takeovers().end());
  }
  return absl::OkStatus();
}

// Fetches the data of a report. Errors: NotFound.
absl::StatusOr<report::Experiment> FetchAll(Client& client, const Selector& selector) {
  report::Experiment experiment;
  DT_ASSIGN_OR_RETURN(experiment.found,
                      client.GetExperiment(Select<v1::GetExperimentRequest>(selector)));
  const Selector fixed{false, experiment.found.summary().experiment()};  // fixes "last"
  DT_ASSIGN_OR_RETURN(auto trials, client.ListTrials(Select<v1::ListTrialsRequest>(fixed)));
  std::sort(trials.begin(), trials.end(),
            [](const auto& a, const auto& b) { return a.trial() < b.trial(); });
  for (v1::TrialSummary& trial : trials) {
    experiment.trials.emplace_back().summary = std::move(trial);
  }
  DT_RETURN_IF_ERROR(FetchAttempts(client, experiment));
  report::Collector collector(experiment);
  DT_RETURN_IF_ERROR(client.ReadAllMetrics(Select<v1::ReadMetricsRequest>(fixed),
                                           [&](const v1::ReadMetricsResponse& page) {
                                             collector.Add(page);
                                             return absl::OkStatus();
                                           }));
  collector.Finish();
  return experiment;
}

// Writes a file beside the path and renames it, so that no reader finds half of it. Writes directly
// into a device or a pipe. Errors: InvalidArgument with the path and the reason.
absl::Status WriteFile(const std::string& path, const std::string& text) {
  std::error_code code;
  const auto status = std::filesystem::status(path, code);
  const bool special = std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
  const std::string target = special ? path : absl::StrCat(path, ".", getpid(), ".part");
  errno = 0;
  std::ofstream file(target, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  const int cause = errno;
  if (!file.fail() && !special) std::filesystem::rename(target, path, code);
  if (!file.fail() && !code) return absl::OkStatus();
  if (!special) std::filesystem::remove(target, code);
  return absl::InvalidArgumentError(
      absl::StrCat("cannot write '", Printable(path),
                   "': ", cause != 0 ? std::strerror(cause) : "it cannot be replaced",
                   "; name a file in a folder that you may write to"));
}

std::string ReportText(const std::vector<report::Experiment>& experiments, FileKind kind) {
  if (kind == FileKind::kCsv) return report::ResultsCsv(experiments);
  const report::Document document = experiments.size() == 1
                                        ? report::ExperimentReport(experiments[0])
                                        : report::CompareReport(experiments);
  return kind == FileKind::kHtml ? report::HtmlPage(document) : report::MarkdownPage(document);
}

absl::StatusOr<ExitCode> Report(Session& session, const ReportOptions& options) {
  DT_ASSIGN_OR_RETURN(const FileKind kind, KindOf(options));
  std::vector<Selector> selectors;
  for (const std::string& word : options.experiments) {
    DT_ASSIGN_OR_RETURN(selectors.emplace_back(), session.ChooseExperiment(word));
  }
  DT_ASSIGN_OR_RETURN(Client * client, session.Connect());
  std::vector<report::Experiment> experiments;
  for (const Selector& selector : selectors) {
    DT_ASSIGN_OR_RETURN(experiments.emplace_back(), FetchAll(*client, selector));
  }
  const std::string text = ReportText(experiments, kind);
  if (options.output.empty() || options.output == "-") {
    session.out() << session.ForTerminal(text) << std::flush;
    return ExitCode::kOk;
  }
  DT_RETURN_IF_ERROR(WriteFile(options.output, text));
  session.Note(absl::StrCat("Wrote ", Printable(options.output), " (",
                            FormatBytes(static_cast<double>(text.size())), ")."));
  return ExitCode::kOk;
}

struct PlotOptions {
  std::vector<std::string> selectors;
  std::string metric;  // "": that of the search, or the loss
  bool log = false;
};

// Content of a plot.
struct PlotContent {
  // The lines: each has a trial, or the trials of a configuration.
  std::vector<std::vector<v1::TrialSummary>> lines;
  std::vector<std::string> experiments;  // "12, quickstart"
  std::set<std::string> metrics;         // of the searches, or reported by programs
  std::string usual;                     // the metric where none was named
  bool programs = false;                 // some run a program, with its own steps
};

// Returns the best lines of the experiment, at most `count`, in order of number: configurations if
// trials differ only in their seed, else trials.
std::vector<std::vector<v1::TrialSummary>> BestLines(Session& session,
                                                     report::Experiment& experiment,
                                                     const std::vector<v1::TrialSummary>& trials,
                                                     size_t count) {
  const v1::ExperimentSummary& summary = experiment.found.summary();
  std::vector<Configuration> configurations = ConfigurationsOf(trials);
  const bool seeds = HasReplicates(configurations);
  if (configurations.size() > count) {
    session.Note(absl::StrCat("Only the ", count, " best of ",
                              Plural(configurations.size(), seeds ? "configuration" : "trial"),
                              " of experiment ", summary.experiment(),
                              " are drawn; name others, such as ", summary.experiment(), "/1."));
    if (seeds) {
      BestFirst(configurations, GoalOf(summary.goal()));
    } else {
      for (const auto& trial : trials) experiment.trials.emplace_back().summary = trial;
      configurations.clear();
      for (const report::Trial* trial : report::BestFirst(experiment)) {
        configurations.emplace_back().trials.push_back(&trial->summary);
      }
    }
    configurations.resize(count);
    std::sort(configurations.begin(), configurations.end(), [](const auto& a, const auto& b) {
      return a.trials[0]->trial() < b.trials[0]->trial();
    });
  }
  std::vector<std::vector<v1::TrialSummary>> lines;
  for (const Configuration& one : configurations) {
    std::vector<v1::TrialSummary>& line = lines.emplace_back();
    for (const v1::TrialSummary* trial : one.trials) line.push_back(*trial);
  }
  return lines;
}

// Adds the named trial, or the `count` best lines of the experiment. Errors: NotFound.
absl::Status AddToDraw(Session& session, Client& client, const Selector& selector, size_t count,
                       PlotContent& drawn) {
  report::Experiment experiment;
  DT_ASSIGN_OR_RETURN(experiment.found,
                      client.GetExperiment(Select<v1::GetExperimentRequest>(selector)));
  const v1::ExperimentSummary& summary = experiment.found.summary();
  const uint64_t id = summary.experiment();
  const Selector fixed{false, id, selector.trial};
  DT_ASSIGN_OR_RETURN(auto chosen, client.ListTrials(Select<v1::ListTrialsRequest>(fixed)));
  if (selector.trial != 0 && chosen.empty()) {
    return absl::NotFoundError(absl::StrCat("experiment ", id, " has no trial ", selector.trial,
                                            "; 'dtctl get trials ", id, "' lists them"));
  }
  const std::string name = absl::StrCat(id, ", ", Printable(summary.name()));
  if (std::find(drawn.experiments.begin(), drawn.experiments.end(), name) ==
      drawn.experiments.end()) {
    drawn.experiments.push_back(name);
  }
  if (!summary.metric().empty()) drawn.metrics.insert(summary.metric());
  if (drawn.usual.empty()) {
    // A program may have no loss. For dtrain's own trials, the loss has more points than the metric
    // of validations.
    const std::string of_program = report::MetricOfProgram(experiment);
    drawn.programs = !of_program.empty();
    drawn.usual = !of_program.empty()             ? of_program
                  : NeedsColumn(summary.metric()) ? summary.metric()
                                                  : "loss";
  }
  for (auto& line : BestLines(session, experiment, chosen, count)) {
    const bool known = std::any_of(drawn.lines.begin(), drawn.lines.end(), [&](const auto& one) {
      return one.size() == line.size() && TrialName(one[0]) == TrialName(line[0]);
    });
    if (!known) drawn.lines.push_back(std::move(line));
  }
  return absl::OkStatus();
}

// Returns all named lines. Errors: InvalidArgument for more than can be distinguished.
absl::StatusOr<PlotContent> FindPlotContent(Session& session, Client& client,
                                            const PlotOptions& options) {
  const size_t named = options.selectors.size();
  if (named > kMarkers) {
    return absl::InvalidArgumentError(
        absl::StrCat(named, " are named; at most ", kMarkers, " can be told apart"));
  }
  PlotContent drawn;
  for (const std::string& written : options.selectors) {
    DT_ASSIGN_OR_RETURN(const Selector selector, session.Choose(written));
    DT_RETURN_IF_ERROR(AddToDraw(session, client, selector, kMarkers / named, drawn));
  }
  return drawn;
}

// Returns the metric of a trial over steps. Adds the names that its program reported to `reported`.
absl::StatusOr<TextSeries> FetchSeries(Client& client, const v1::TrialSummary& trial,
                                       const std::string& metric, std::set<std::string>& reported) {
  TextSeries series;
  series.name = LineName(trial);
  MetricRows rows(trial.experiment(), {metric}, Attempts::kValidOnly);
  const auto take = [&](const std::vector<Json>& ready) {
    for (const Json& row : ready) {
      const auto found = row.find(metric);
      if (found == row.end() || !found->is_number()) continue;
      const double value = found->get<double>();
      if (std::isfinite(value)) series.points.push_back({row.at("step").get<double>(), value});
    }
  };
  const Selector selector{false, trial.experiment(), trial.trial()};
  DT_RETURN_IF_ERROR(client.ReadAllMetrics(Select<v1::ReadMetricsRequest>(selector),
                                           [&](const v1::ReadMetricsResponse& page) {
                                             take(rows.Add(page));
                                             return absl::OkStatus();
                                           }));
  take(rows.Finish());
  reported.insert(rows.reported().begin(), rows.reported().end());
  return series;
}

// Returns a line of the plot: a trial's, or the mean of a configuration's with its band.
absl::StatusOr<TextSeries> FetchLine(Client& client, const std::vector<v1::TrialSummary>& trials,
                                     const std::string& metric, std::set<std::string>& reported) {
  if (trials.size() == 1) return FetchSeries(client, trials[0], metric, reported);
  std::vector<std::vector<report::Point>> lines;
  for (const v1::TrialSummary& trial : trials) {
    DT_ASSIGN_OR_RETURN(TextSeries one, FetchSeries(client, trial, metric, reported));
    lines.push_back(std::move(one.points));
  }
  report::MeanCurve curve = report::MeanCurveOf(lines);
  return TextSeries{ConfigurationLineName(ConfigurationsOf(trials)[0]), std::move(curve.mean),
                    std::move(curve.band)};
}

absl::StatusOr<ExitCode> PlotMetric(Session& session, const PlotOptions& options) {
  if (!options.metric.empty()) DT_RETURN_IF_ERROR(CheckMetricNames({options.metric}));
  DT_ASSIGN_OR_RETURN(Client * client, session.Connect());
  DT_ASSIGN_OR_RETURN(PlotContent drawn, FindPlotContent(session, *client, options));
  const std::string metric = options.metric.empty() ? drawn.usual : options.metric;
  TextPlot plot;
  plot.title =
      absl::StrCat(Printable(metric), " of experiment", drawn.experiments.size() == 1 ? " " : "s ",
                   absl::StrJoin(drawn.experiments, "; "));
  plot.x_label = drawn.programs ? "step" : "optimizer step";
  plot.y_scale = options.log ? report::Scale::kLog : report::Scale::kLinear;
  size_t values = 0;
  for (const std::vector<v1::TrialSummary>& line : drawn.lines) {
    DT_ASSIGN_OR_RETURN(plot.series.emplace_back(),
                        FetchLine(*client, line, metric, drawn.metrics));
    values += plot.series.back().points.size();
  }
  if (values == 0) {
    DT_RETURN_IF_ERROR(CheckMetricsExist({metric}, drawn.metrics));
    session.Note(absl::StrCat("There are no values of ", Printable(metric), " yet."));
    return ExitCode::kOk;
  }
  TextPlotSize size;
  if (session.width() > 0) size.columns = session.width();
  const bool unicode =
      session.terminal().Unicode() && session.terminal().environment("TERM") != "dumb";
  for (const std::string& line :
       TextPlotLines(plot, size, unicode ? Glyphs::kUnicode : Glyphs::kAscii)) {
    session.out() << line << "\n";
  }
  session.out() << std::flush;
  return ExitCode::kOk;
}

}  // namespace

void AddReportCommands(CommandTree& tree) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* app =
      tree.Add(&tree.app(), "report", "An experiment as one file: tables, figures, configuration",
               "dtctl report last -o report.html     # to read, print and send\n"
               "dtctl report 12 -o report.md\n"
               "dtctl report 12 -o results.csv       # a row for each trial\n"
               "dtctl report 12 13 -o compare.html   # side by side");
  app->add_option("EXP", options->experiments, "12 or last; several are compared")
      ->required()
      ->expected(1, report::kComparedMax);
  app->add_option("-o,--output", options->output,
                  "The file; its ending says what it becomes: .html, .md or .csv; - or none: "
                  "Markdown on stdout")
      ->option_text("FILE");
  tree.SetWords(
      app->add_option("--format", options->format, "html, md or csv, whatever the file is called")
          ->option_text("KIND"),
      {"html", "md", "csv"});
  tree.SetCommand(app, {[options](Session& session) { return Report(session, *options); }, {}});

  auto plot = std::make_shared<PlotOptions>();
  app = tree.Add(&tree.app(), "plot", "A metric over steps, drawn in the terminal",
                 "dtctl plot last\n"
                 "dtctl plot 12 --metric val_loss\n"
                 "dtctl plot 12/1 12/4 --metric tokens_per_second   # two of its trials\n"
                 "dtctl plot 12 13                                  # two experiments");
  app->add_option(
         "SEL", plot->selectors,
         "Experiments, of which the best trials are drawn, or with several seeds the means "
         "of the best configurations, and trials such as 12/3")
      ->required();
  tree.SetWords(
      app->add_option(
             "--metric", plot->metric,
             "What to draw; unless given what a search or a program goes by, else the loss. "
             "'dtctl metrics --help' lists them; a program's own may be named too")
          ->option_text("NAME"),
      MetricNames());
  app->add_flag("--log", plot->log, "A logarithmic scale");
  tree.SetCommand(app, {[plot](Session& session) { return PlotMetric(session, *plot); }, {}});
}

}  // namespace dt::cli
