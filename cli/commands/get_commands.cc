// get_commands.cc: dtctl get experiments | trials | configurations | workers | checkpoints.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "cli/commands/command_tree.h"
#include "cli/commands/configurations.h"
#include "cli/commands/data_note.h"
#include "cli/commands/labels.h"
#include "cli/remote/follow.h"
#include "cli/view/trial_table.h"
#include "cli/view/words.h"
#include "common/status.h"
#include "common/text.h"

namespace dt::cli {
namespace {

struct GetOptions {
  std::string selector;
  std::vector<std::string> labels;
  std::vector<std::string> states;
  bool watch = false;
  bool archived = false;
};

// Interval of --watch in redraws of live views: a list changes slowly.
constexpr int kWatchRedraws = 4;

std::string AgeText(int64_t wall_ms) {
  if (wall_ms <= 0) return kNone;
  const double seconds = static_cast<double>(absl::ToUnixMillis(absl::Now()) - wall_ms) / 1000;
  return FormatShort(std::max(0.0, std::floor(seconds)));
}

absl::StatusOr<std::vector<v1::ExperimentSummary>> FindExperiments(Session& session,
                                                                   const GetOptions& options) {
  v1::ListExperimentsRequest request;
  if (!options.selector.empty()) {
    DT_ASSIGN_OR_RETURN(const Selector selector, session.Choose(options.selector));
    request = Select<v1::ListExperimentsRequest>(selector);
  }
  request.set_archived(options.archived);
  DT_ASSIGN_OR_RETURN(const auto labels, ParseLabels(options.labels));
  for (const v1::Label& label : labels) *request.add_labels() = label;
  DT_ASSIGN_OR_RETURN(Client * client, session.Connect());
  return client->ListExperiments(request);
}

absl::StatusOr<Listing> Experiments(Session& session, const GetOptions& options) {
  DT_ASSIGN_OR_RETURN(const auto experiments, FindExperiments(session, options));
  Listing listing;
  listing.kind = "ExperimentList";
  listing.empty = options.labels.empty() ? "No experiments yet; start one with 'dtctl submit FILE'."
                                         : "No experiment has these labels.";
  listing.table.columns = {{"EXPERIMENT", Align::kRight, Shown::kAlways, "EXP"},
                           {"NAME", Align::kLeft, Shown::kAlways, "", 12},
                           {"STATE"},
                           {"TRIALS", Align::kRight, Shown::kAlways, "", 0, 4},
                           {"RUNNING", Align::kRight, Shown::kAlways, "RUN", 0, 2},
                           {"PENDING", Align::kRight, Shown::kWide},
                           {"FINISHED", Align::kRight, Shown::kAlways, "FIN", 0, 1},
                           {"FAILED", Align::kRight, Shown::kAlways, "FAIL"},
                           {"CANCELLED", Align::kRight, Shown::kWide},
                           {"DONE", Align::kRight},
                           {"LEFT", Align::kRight, Shown::kAlways, "", 0, 5},
                           {"BEST", Align::kRight},
                           {"AGE", Align::kRight, Shown::kAlways, "", 0, 3},
                           {"PRIORITY", Align::kRight, Shown::kWide},
                           {"SLOTS", Align::kRight, Shown::kWide},
                           {"BY", Align::kLeft, Shown::kWide},
                           {"LABELS", Align::kLeft, Shown::kWide},
                           {"NOTE", Align::kLeft, Shown::kWide, "", 12}};
  // A reason that needs action has a column of its own, if there is one.
  const bool held = std::any_of(experiments.begin(), experiments.end(), [](const auto& one) {
    return !one.paused_why().empty() && !Ended(one.state());
  });
  if (held) listing.table.columns.push_back({"HELD", Align::kLeft, Shown::kAlways, "", 12});
  listing.columns = CsvColumns(ExperimentJson(v1::ExperimentSummary()));
  for (const v1::ExperimentSummary& one : experiments) {
    const std::string id = absl::StrCat(one.experiment());
    const bool has_best = one.best_trial() != 0;
    listing.table.rows.push_back(
        {{id},
         {Printable(one.name())},
         StateCell(one),
         {FormatCount(TrialsInAll(one))},
         {FormatCount(one.running())},
         {FormatCount(one.pending())},
         {FormatCount(one.finished())},
         {FormatCount(one.failed()), one.failed() > 0 ? Style::kBad : Style::kPlain},
         {FormatCount(one.cancelled())},
         {FormatRatio(one.progress_ratio())},
         {Ended(one.state()) ? kNone : FormatShort(one.eta_seconds())},
         {has_best
              ? absl::StrCat(FormatLoss(one.best_value()), " (", id, "/", one.best_trial(), ")")
              : kNone},
         {AgeText(one.submitted_wall_ms())},
         {absl::StrCat(one.priority())},
         {FormatCount(one.slots_held())},
         {one.submitted_by().empty() ? kNone : Printable(one.submitted_by())},
         {LabelsText(one.labels())},
         {Printable(one.note())}});
    if (held) listing.table.rows.back().push_back({Printable(one.paused_why()), Style::kWarn});
    listing.items.push_back(ExperimentJson(one));
    listing.names.push_back(id);
  }
  return listing;
}

// Returns the requests: for the selector; without one, for the newest experiment, or for every
// experiment with the labels.
template <typename Request>
absl::StatusOr<std::vector<Request>> RequestsOf(Session& session, const GetOptions& options) {
  std::vector<Request> requests;
  if (options.labels.empty() || !options.selector.empty()) {
    const std::string written = options.selector.empty() ? "last" : options.selector;
    DT_ASSIGN_OR_RETURN(const Selector selector, session.Choose(written));
    requests.push_back(Select<Request>(selector));
  } else {
    DT_ASSIGN_OR_RETURN(const auto experiments, FindExperiments(session, options));
    for (const auto& one : experiments) requests.emplace_back().set_experiment(one.experiment());
  }
  return requests;
}

struct FoundTrials {
  std::vector<v1::TrialSummary> all;
  std::vector<std::string> paths;  // of the parameters of their experiments, for CSV
  std::string metric;              // shared by all, if no usual column shows it; else ""
};

// Returns the search.metric that the experiments share and that needs a column, or "".
absl::StatusOr<std::string> SharedMetric(Client& client,
                                         const std::vector<v1::ListTrialsRequest>& requests) {
  std::string shared;
  for (const v1::ListTrialsRequest& request : requests) {
    v1::ListExperimentsRequest which;
    which.set_experiment(request.experiment());
    which.set_last(request.last());
    DT_ASSIGN_OR_RETURN(const auto experiments, client.ListExperiments(which));
    for (const v1::ExperimentSummary& one : experiments) {
      if (!NeedsColumn(one.metric())) return "";
      if (!shared.empty() && shared != one.metric()) return "";
      shared = one.metric();
    }
  }
  return shared;
}

absl::StatusOr<FoundTrials> FindTrials(Session& session, const GetOptions& options) {
  DT_ASSIGN_OR_RETURN(auto requests, RequestsOf<v1::ListTrialsRequest>(session, options));
  std::vector<v1::TrialState> states;
  for (const std::string& word : options.states) {
    states.push_back(TrialStateFromWord(word == "waiting" ? "pending" : word));
    if (states.back() == v1::TRIAL_STATE_UNSPECIFIED) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", Printable(word),
                       "' is not a state; use pending, starting, running, stopping, finished, "
                       "failed or cancelled"));
    }
  }
  DT_ASSIGN_OR_RETURN(Client * client, session.Connect());
  FoundTrials found;
  if (session.format() == Format::kTable || session.format() == Format::kWide) {
    DT_ASSIGN_OR_RETURN(found.metric, SharedMetric(*client, requests));
  }
  for (v1::ListTrialsRequest& request : requests) {
    if (session.format() == Format::kCsv) {
      DT_ASSIGN_OR_RETURN(const auto paths, FetchParameters(*client, request));
      for (const std::string& path : paths) {
        const bool known = std::count(found.paths.begin(), found.paths.end(), path) > 0;
        if (!known) found.paths.push_back(path);
      }
    }
    for (v1::TrialState state : states) request.add_states(state);
    DT_ASSIGN_OR_RETURN(auto trials, client->ListTrials(request));
    std::move(trials.begin(), trials.end(), std::back_inserter(found.all));
  }
  return found;
}

std::vector<Cell> TrialCells(const v1::TrialSummary& trial, const std::vector<Swept>& swept,
                             const std::string& metric) {
  const bool live = trial.state() == v1::TRIAL_RUNNING;
  std::vector<Cell> cells = {{TrialName(trial)}};
  for (const Swept& one : swept) cells.push_back({AssignmentText(trial, one.path)});
  if (!metric.empty()) cells.push_back({MetricText(trial)});
  cells.insert(cells.end(), {StateCell(trial),
                             {StepText(trial)},
                             {trial.has_latest() ? FormatLoss(trial.latest().loss()) : kNone},
                             {FormatLoss(trial.val_loss())},
                             {BestText(trial)},
                             {RateText(trial)},
                             {CommShareText(trial)},
                             {live ? FormatShort(std::ceil(trial.eta_seconds())) : kNone},
                             {absl::StrCat(trial.attempts())},
                             {absl::StrJoin(trial.workers(), ",")},
                             {NoteText(trial)}});
  return cells;
}

// Returns why there are no trials: a search may not have proposed one yet.
absl::StatusOr<std::string> NoTrialText(Session& session, const GetOptions& options) {
  constexpr char kNoMatch[] = "No trial matches.";
  if (!options.states.empty() || !options.labels.empty()) return kNoMatch;
  const std::string written = options.selector.empty() ? "last" : options.selector;
  DT_ASSIGN_OR_RETURN(const Selector selector, session.Choose(written));
  DT_ASSIGN_OR_RETURN(Client * client, session.Connect());
  DT_ASSIGN_OR_RETURN(const auto experiments,
                      client->ListExperiments(Select<v1::ListExperimentsRequest>(selector)));
  const std::string to_come = experiments.empty() ? "" : ToComeText(experiments.front());
  if (to_come.empty()) return kNoMatch;
  return absl::StrCat("No trial yet: ", to_come, "; 'dtctl describe ",
                      experiments.front().experiment(), "' says what it waits for.");
}

absl::StatusOr<Listing> Trials(Session& session, const GetOptions& options) {
  DT_ASSIGN_OR_RETURN(const FoundTrials found, FindTrials(session, options));
  const std::vector<v1::TrialSummary>& trials = found.all;
  Listing listing;
  listing.kind = "TrialList";
  if (trials.empty()) {
    DT_ASSIGN_OR_RETURN(listing.empty, NoTrialText(session, options));
  }
  const std::vector<Swept> swept = SweptParameters(trials);
  listing.table.columns = {{"TRIAL"}};
  AddParameters(listing.table, swept);
  if (!found.metric.empty()) {
    listing.table.columns.push_back(MetricColumn(found.metric));
  }
  listing.table.columns.push_back({"STATE"});
  AddColumns(listing.table, {kStep, kLoss, kValLoss, kBest, kRate});
  listing.table.columns.push_back({"COMM SHARE", Align::kRight, Shown::kWide});
  AddColumns(listing.table, {kLeft});
  listing.table.columns.insert(listing.table.columns.end(),
                               {{"ATTEMPTS", Align::kRight, Shown::kWide},
                                {"WORKERS", Align::kLeft, Shown::kWide},
                                {"NOTE", Align::kLeft, Shown::kAlways, "", 12, 6}});
  listing.columns = WithParameters(CsvColumns(TrialJson(Whole<v1::TrialSummary>())), found.paths);
  for (const v1::TrialSummary& trial : trials) {
    listing.table.rows.push_back(TrialCells(trial, swept, found.metric));
    listing.items.push_back(TrialJson(trial));
    listing.names.push_back(TrialName(trial));
  }
  LeaveOutUntold(listing.table, trials);
  return listing;
}

absl::StatusOr<Listing> Workers(Session& session, const GetOptions& options) {
  DT_ASSIGN_OR_RETURN(Client * client, session.Connect());
  DT_ASSIGN_OR_RETURN(const auto labels, ParseLabels(options.labels));
  DT_ASSIGN_OR_RETURN(const auto workers, client->ListWorkers());
  Listing listing;
  listing.kind = "WorkerList";
  listing.empty = workers.empty() ? "No workers have reported; start one with 'dtworker'."
                                  : "No worker has these labels.";
  listing.table.columns = {{"WORKER", Align::kLeft, Shown::kAlways, "", 10},
                           {"STATE"},
                           {"DEVICE"},
                           {"DEVICE NAME", Align::kLeft, Shown::kWide, "", 10},
                           {"TASK", Align::kLeft, Shown::kAlways, "", 10},
                           {"LAST SEEN", Align::kRight, Shown::kAlways, "SEEN", 0, 2},
                           {"HOST", Align::kLeft, Shown::kAlways, "", 8, 1},
                           {"VERSION", Align::kLeft, Shown::kWide},
                           {"STORAGE", Align::kLeft, Shown::kWide},
                           {"PEER", Align::kLeft, Shown::kWide},
                           {"LABELS", Align::kLeft, Shown::kWide}};
  // Workers rarely have a mark, so there is a column only if one has.
  const bool marked = std::any_of(workers.begin(), workers.end(),
                                  [](const auto& one) { return !one.mark().empty(); });
  if (marked) listing.table.columns.push_back({"NOTE", Align::kLeft, Shown::kAlways, "", 12});
  listing.columns = CsvColumns(WorkerJson(v1::WorkerSummary()));
  for (const v1::WorkerSummary& one : workers) {
    if (!HasAll(one.labels(), labels)) continue;
    const Style style = one.state() == "busy"   ? Style::kBusy
                        : one.state() == "idle" ? Style::kGood
                        : one.state() == "lost" ? Style::kBad
                                                : Style::kWarn;
    listing.table.rows.push_back({{Printable(one.worker())},
                                  {Printable(one.state()), style},
                                  {Printable(one.device())},
                                  {Printable(one.device_name())},
                                  {one.doing().empty() ? kNone : Printable(one.doing())},
                                  {FormatShort(one.silence_seconds())},
                                  {Printable(one.host())},
                                  {Printable(one.program_version())},
                                  {Printable(one.storage_id())},
                                  {Printable(one.peer())},
                                  {LabelsText(one.labels())}});
    if (marked) listing.table.rows.back().push_back({Printable(one.mark())});
    listing.items.push_back(WorkerJson(one));
    listing.names.push_back(one.worker());
  }
  return listing;
}

absl::StatusOr<Listing> Checkpoints(Session& session, const GetOptions& options) {
  DT_ASSIGN_OR_RETURN(const auto requests,
                      RequestsOf<v1::ListCheckpointsRequest>(session, options));
  DT_ASSIGN_OR_RETURN(Client * client, session.Connect());
  std::vector<v1::CheckpointSummary> checkpoints;
  for (const v1::ListCheckpointsRequest& request : requests) {
    DT_ASSIGN_OR_RETURN(const auto some, client->ListCheckpoints(request));
    checkpoints.insert(checkpoints.end(), some.begin(), some.end());
  }
  Listing listing;
  listing.kind = "CheckpointList";
  listing.empty = "No checkpoints yet.";
  listing.table.columns = {{"ATTEMPT"},
                           {"STEP", Align::kRight},
                           {"VAL LOSS", Align::kRight},
                           {"SIZE", Align::kRight},
                           {"BEST"},
                           {"PATH UNDER --storage", Align::kLeft, Shown::kAlways, "PATH", 0},
                           {"STORAGE", Align::kLeft, Shown::kWide},
                           {"SEEN BY", Align::kLeft, Shown::kAlways, "", 8}};
  listing.columns = CsvColumns(CheckpointJson(v1::CheckpointSummary()));
  listing.columns.push_back("gone");
  const std::string cluster = OwnClusterFolder(session);
  for (const v1::CheckpointSummary& one : checkpoints) {
    const v1::CheckpointRef& ref = one.checkpoint();
    std::error_code code;
    // The user removed it by hand: a trainer reports what it removes.
    const bool gone =
        !cluster.empty() && !one.seen_by().empty() &&
        !std::filesystem::exists(absl::StrCat(cluster, "/storage/", ref.path()), code) && !code;
    const std::string seen = gone ? "nobody: it is gone" : absl::StrJoin(one.seen_by(), ",");
    listing.table.rows.push_back(
        {{absl::StrCat(one.experiment(), "/", one.trial(), "#", one.attempt())},
         {absl::StrCat(ref.step())},
         {FormatLoss(ref.loss())},
         {FormatBytes(static_cast<double>(ref.bytes()))},
         {ref.best() ? "best" : "", Style::kGood},
         {Printable(ref.path())},
         {Printable(ref.storage_id())},
         {seen.empty() ? "nobody connected" : Printable(seen),
          seen.empty() || gone ? Style::kWarn : Style::kPlain}});
    listing.items.push_back(CheckpointJson(one));
    listing.items.back()["gone"] = gone;
    if (!gone) listing.names.push_back(ref.path());
  }
  return listing;
}

absl::StatusOr<Listing> Configurations(Session& session, const GetOptions& options) {
  const std::string written = options.selector.empty() ? "last" : options.selector;
  DT_ASSIGN_OR_RETURN(const Selector selector, session.ChooseExperiment(written));
  DT_ASSIGN_OR_RETURN(Client * client, session.Connect());
  auto request = Select<v1::GetExperimentRequest>(selector);
  DT_ASSIGN_OR_RETURN(const auto paths, FetchParameters(*client, request));
  DT_ASSIGN_OR_RETURN(const auto found, client->GetExperiment(request));
  const Selector fixed{false, found.summary().experiment()};
  DT_ASSIGN_OR_RETURN(const auto trials, client->ListTrials(Select<v1::ListTrialsRequest>(fixed)));
  return ListConfigurations(ConfigurationsOf(trials), found.summary(), paths);
}

using Lister = absl::StatusOr<Listing> (*)(Session&, const GetOptions&);

// Lists again and again until Ctrl-C: redraws in place on a terminal, else prints list after list.
absl::StatusOr<ExitCode> Watch(Session& session, const GetOptions& options, Lister lister) {
  std::unique_ptr<Redrawer> redrawer;
  const bool table = session.format() == Format::kTable || session.format() == Format::kWide;
  if (session.terminal().CanRedraw() && table) {
    redrawer = std::make_unique<Redrawer>(session.terminal(), session.colour());
  }
  while (true) {
    const absl::StatusOr<Listing> listing = lister(session, options);
    if (session.interrupt().Triggered()) break;  // the call ended with an error
    DT_RETURN_IF_ERROR(listing.status());
    if (redrawer == nullptr) {
      Print(session, *listing);
    } else {
      redrawer->Draw(ListingLines(session, *listing));
    }
    DT_RETURN_IF_ERROR(session.Written());
    const auto woken = session.interrupt().Wait(kWatchRedraws * session.pace().redraw);
    if (woken == Interrupt::Woken::kByInterrupt) break;
  }
  // Ends the line of the terminal's ^C.
  if (session.terminal().err_is_tty) *session.terminal().err << std::endl;
  return ExitCode::kInterrupted;
}

// Adds the command for a kind. The caller adds options that only some kinds have.
CLI::App* AddKind(CommandTree& tree, CLI::App* get, const std::string& name,
                  const std::string& help, const std::string& examples, Lister lister,
                  const std::shared_ptr<GetOptions>& options) {
  CLI::App* app = tree.Add(get, name, help, examples);
  app->add_flag("--watch", options->watch, "Look again every 2 s until Ctrl-C");
  tree.SetCommand(app, {[options, lister](Session& session) -> absl::StatusOr<ExitCode> {
                          if (options->watch) return Watch(session, *options, lister);
                          DT_ASSIGN_OR_RETURN(const Listing listing, lister(session, *options));
                          Print(session, listing);
                          return ExitCode::kOk;
                        },
                        kListFormats});
  return app;
}

std::vector<std::string> TrialStateWords() {
  std::vector<std::string> words;
  for (int number = v1::TrialState_MIN + 1; number <= v1::TrialState_MAX; ++number) {
    words.push_back(Word(static_cast<v1::TrialState>(number)));
  }
  return words;
}

void AddLabels(CLI::App* app, const std::shared_ptr<GetOptions>& options) {
  app->add_option("-l,--label", options->labels, "Only those with this label; may be repeated")
      ->option_text("KEY=VALUE")
      ->allow_extra_args(false);
}

}  // namespace

void AddGetCommands(CommandTree& tree) {
  CLI::App* get =
      tree.AddGroup("get", "List experiments, trials, configurations, workers or checkpoints",
                    "dtctl get experiments\n"
                    "dtctl get trials 12 -o wide\n"
                    "dtctl get workers --watch\n"
                    "dtctl get trials last -o json | jq '.items[].val_loss'");

  auto options = std::make_shared<GetOptions>();
  CLI::App* app = AddKind(tree, get, "experiments", "Submitted experiments, newest last",
                          "dtctl get experiments\n"
                          "dtctl get experiments -l team=vision -o csv\n"
                          "dtctl get experiments --archived\n"
                          "dtctl get experiments -o name",
                          Experiments, options);
  app->alias("experiment");
  app->add_option("EXP", options->selector, "Only this one: 12, or last for the newest");
  app->add_flag("--archived", options->archived, "Those that were archived as well");
  AddLabels(app, options);

  options = std::make_shared<GetOptions>();
  app = AddKind(tree, get, "trials", "Trials of an experiment, with their newest numbers",
                "dtctl get trials last\n"
                "dtctl get trials 12 --state failed -o name\n"
                "dtctl get trials 12/3 -o json",
                Trials, options);
  app->alias("trial");
  app->add_option("SEL", options->selector, "12, 12/3, last or last/3; the newest when left out");
  tree.SetWords(
      app->add_option("--state", options->states, "Only trials in this state; may be repeated")
          ->option_text("STATE")
          ->allow_extra_args(false),
      TrialStateWords());
  AddLabels(app, options);

  options = std::make_shared<GetOptions>();
  app = AddKind(tree, get, "configurations",
                "Trials that differ in their seed alone, as one: mean and deviation",
                "dtctl get configurations last\n"
                "dtctl get configurations 12 -o csv",
                Configurations, options);
  app->alias("configuration");
  app->add_option("EXP", options->selector, "12, or last; the newest when left out");

  options = std::make_shared<GetOptions>();
  app = AddKind(tree, get, "workers", "Workers that are or were connected, and what they do",
                "dtctl get workers\n"
                "dtctl get workers -l rack=7 -o wide",
                Workers, options);
  app->alias("worker");
  AddLabels(app, options);

  options = std::make_shared<GetOptions>();
  app = AddKind(tree, get, "checkpoints", "Checkpoints that are kept, and who can read them",
                "dtctl get checkpoints last\n"
                "dtctl get checkpoints -l team=vision\n"
                "dtctl get checkpoints 12/3 -o json",
                Checkpoints, options);
  app->alias("checkpoint");
  app->add_option("SEL", options->selector, "12, 12/3, last or last/3; the newest when left out");
  AddLabels(app, options);
}

}  // namespace dt::cli
