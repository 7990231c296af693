// get_commands.cc: dtctl get experiments | trials | configurations | workers | checkpoints.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/commands/command_tree.h"
#include "cli/commands/configurations.h"
#include "cli/commands/data_note.h"
#include "cli/commands/get_columns.h"
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
  ListColumns<v1::ExperimentSummary> columns = ExperimentColumns();
  // A reason that needs action has a column of its own, if there is one.
  const bool held = std::any_of(experiments.begin(), experiments.end(), [](const auto& one) {
    return !one.paused_why().empty() && !Ended(one.state());
  });
  if (held) {
    columns.push_back(
        {{"HELD", Align::kLeft, Shown::kAlways, "", 12}, [](const v1::ExperimentSummary& one) {
           return Cell{Printable(one.paused_why()), Style::kWarn};
         }});
  }
  FillListing(columns, ExperimentJson, experiments, listing);
  for (const auto& one : experiments) listing.names.push_back(absl::StrCat(one.experiment()));
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
  std::vector<std::string> paths;       // of the parameters of their experiments, for CSV
  std::string metric;                   // shared by all, if no usual column shows it; else ""
  std::vector<std::string> objectives;  // of the only experiment, if it has several
  bool programs = false;                // all experiments run programs, which may report no loss
};

// Returns the search.metric that the experiments share and that needs a column, or "".
std::string SharedMetric(const std::vector<v1::ExperimentSummary>& experiments) {
  std::string shared;
  for (const v1::ExperimentSummary& one : experiments) {
    if (!NeedsColumn(one.metric())) return "";
    if (!shared.empty() && shared != one.metric()) return "";
    shared = one.metric();
  }
  return shared;
}

// Fills in what the experiments compare trials by, and whether all of them run programs.
absl::Status FindMetrics(Client& client, const std::vector<v1::ListTrialsRequest>& requests,
                         FoundTrials& found) {
  std::vector<v1::ExperimentSummary> experiments;
  for (const v1::ListTrialsRequest& request : requests) {
    v1::ListExperimentsRequest which;
    which.set_experiment(request.experiment());
    which.set_last(request.last());
    DT_ASSIGN_OR_RETURN(auto listed, client.ListExperiments(which));
    std::move(listed.begin(), listed.end(), std::back_inserter(experiments));
  }
  found.programs = std::all_of(experiments.begin(), experiments.end(),
                               [](const v1::ExperimentSummary& one) { return one.program(); });
  if (experiments.size() == 1) {
    const auto& metrics = experiments.front().metrics();
    found.objectives.assign(metrics.begin(), metrics.end());
  }
  if (found.objectives.empty()) found.metric = SharedMetric(experiments);
  return absl::OkStatus();
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
    DT_RETURN_IF_ERROR(FindMetrics(*client, requests, found));
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
  listing.table = MakeTable(TrialColumns(trials, found.metric, found.objectives), trials);
  listing.columns = WithParameters(CsvColumns(TrialJson(Whole<v1::TrialSummary>())), found.paths);
  for (const v1::TrialSummary& trial : trials) {
    listing.items.push_back(TrialJson(trial));
    listing.names.push_back(TrialName(trial));
  }
  LeaveOutUntold(listing.table, trials, found.programs);
  return listing;
}

absl::StatusOr<Listing> Workers(Session& session, const GetOptions& options) {
  DT_ASSIGN_OR_RETURN(Client * client, session.Connect());
  DT_ASSIGN_OR_RETURN(const auto labels, ParseLabels(options.labels));
  DT_ASSIGN_OR_RETURN(auto workers, client->ListWorkers());
  Listing listing;
  listing.kind = "WorkerList";
  listing.empty = workers.empty() ? "No workers have reported; start one with 'dtworker'."
                                  : "No worker has these labels.";
  // Workers rarely have a mark, so there is a column only if one has.
  const bool marked = std::any_of(workers.begin(), workers.end(),
                                  [](const auto& one) { return !one.mark().empty(); });
  ListColumns<v1::WorkerSummary> columns = WorkerColumns();
  if (marked) {
    columns.push_back({{"NOTE", Align::kLeft, Shown::kAlways, "", 12},
                       [](const v1::WorkerSummary& one) { return Cell{Printable(one.mark())}; }});
  }
  std::erase_if(workers, [&](const auto& one) { return !HasAll(one.labels(), labels); });
  FillListing(columns, WorkerJson, workers, listing);
  for (const v1::WorkerSummary& one : workers) listing.names.push_back(one.worker());
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
  const std::string cluster = OwnClusterFolder(session);
  std::vector<ListedCheckpoint> listed;
  for (const v1::CheckpointSummary& one : checkpoints) {
    std::error_code code;
    const std::string path = absl::StrCat(cluster, "/storage/", one.checkpoint().path());
    const bool gone =
        !cluster.empty() && !one.seen_by().empty() && !std::filesystem::exists(path, code) && !code;
    listed.push_back({one, gone});
    if (!gone) listing.names.push_back(one.checkpoint().path());
  }
  FillListing(CheckpointColumns(), ListedJson, listed, listing);
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
