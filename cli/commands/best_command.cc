// best_command.cc: dtctl best: the best trials, or the best configurations where several seeds were
// trained.
#include <cmath>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "cli/commands/command_tree.h"
#include "cli/commands/configurations.h"
#include "cli/commands/search_text.h"
#include "cli/remote/follow.h"
#include "cli/view/words.h"
#include "common/status.h"

namespace dt::cli {
namespace {

struct BestOptions {
  std::string selector;
  std::optional<int64_t> count;
};

const Column kCheckpoint = {"CHECKPOINT UNDER --storage", Align::kLeft, Shown::kAlways,
                            "CHECKPOINT"};

Json CheckpointOrNull(const std::optional<v1::CheckpointSummary>& checkpoint) {
  return checkpoint.has_value() ? CheckpointJson(*checkpoint) : Json(nullptr);
}

Cell CheckpointCell(const std::optional<v1::CheckpointSummary>& checkpoint) {
  return {checkpoint.has_value() ? Printable(checkpoint->checkpoint().path()) : kNone};
}

Json BestJson(const v1::TrialSummary& trial,
              const std::optional<v1::CheckpointSummary>& checkpoint) {
  Json json = TrialJson(trial);
  json["checkpoint"] = CheckpointOrNull(checkpoint);
  return json;
}

absl::StatusOr<Listing> BestTrials(Client& client, const LiveState& state,
                                   const std::vector<std::string>& paths, size_t count) {
  const v1::ExperimentSummary& experiment = state.experiment;
  Listing listing;
  listing.kind = "BestTrialList";
  listing.table = ResultTable(state, count);
  listing.table.columns.push_back(kCheckpoint);
  const auto ranked = Ranked(state.trials, GoalOf(experiment.goal()), state.early);
  for (size_t i = 0; i < ranked.size() && i < count; ++i) {
    DT_ASSIGN_OR_RETURN(const auto checkpoint,
                        FindBestCheckpoint(client, experiment.experiment(), ranked[i]->trial()));
    listing.table.rows[i].push_back(CheckpointCell(checkpoint));
    listing.items.push_back(BestJson(*ranked[i], checkpoint));
    listing.names.push_back(TrialName(*ranked[i]));
  }
  listing.columns = WithParameters(
      CsvColumns(BestJson(Whole<v1::TrialSummary>(), Whole<v1::CheckpointSummary>())), paths);
  return listing;
}

// Lists configurations with the checkpoint of each one's best trial.
absl::StatusOr<Listing> BestConfigurations(Client& client,
                                           std::vector<Configuration> configurations,
                                           const LiveState& state,
                                           const std::vector<std::string>& paths, size_t count) {
  const Goal goal = GoalOf(state.experiment.goal());
  std::erase_if(configurations, [](const Configuration& one) { return one.metric.n == 0; });
  BestFirst(configurations, goal);
  if (configurations.size() > count) configurations.resize(count);
  Listing listing = ListConfigurations(configurations, state.experiment, paths);
  listing.kind = "BestConfigurationList";
  listing.table.columns.push_back(kCheckpoint);
  for (size_t i = 0; i < configurations.size(); ++i) {
    const v1::TrialSummary& best = *BestTrial(configurations[i], goal);
    DT_ASSIGN_OR_RETURN(const auto checkpoint,
                        FindBestCheckpoint(client, best.experiment(), best.trial()));
    listing.table.rows[i].push_back(CheckpointCell(checkpoint));
    listing.items[i]["best_trial"] = TrialName(best);
    listing.items[i]["checkpoint"] = CheckpointOrNull(checkpoint);
    listing.names[i] = TrialName(best);
  }
  Json columns = {{"best_trial", nullptr},
                  {"checkpoint", CheckpointJson(Whole<v1::CheckpointSummary>())}};
  for (const std::string& column : CsvColumns(columns)) listing.columns.push_back(column);
  return listing;
}

absl::StatusOr<ExitCode> Best(Session& session, const BestOptions& options) {
  DT_ASSIGN_OR_RETURN(const Selector selector, session.ChooseExperiment(options.selector));
  DT_RETURN_IF_ERROR(CheckAtLeast("-k", options.count.value_or(1), 1));
  DT_ASSIGN_OR_RETURN(Client * client, session.Connect());
  auto request = Select<v1::GetExperimentRequest>(selector);
  DT_ASSIGN_OR_RETURN(const auto paths, FetchParameters(*client, request));
  DT_ASSIGN_OR_RETURN(LiveState state, FetchExperiment(*client, {false, request.experiment()}));
  const v1::ExperimentSummary& experiment = state.experiment;
  const std::vector<v1::TrialSummary> all = state.trials;
  const int64_t front = std::max(1, experiment.pareto_trials_size());
  const auto count = static_cast<size_t>(options.count.value_or(front));
  std::erase_if(state.trials, [](const auto& one) { return !report::Counts(one); });
  if (state.trials.empty()) {
    if (experiment.infeasible() > 0) {
      return absl::NotFoundError(absl::StrCat(
          "no trial of experiment ", experiment.experiment(),
          " keeps all constraints: ", report::ConstraintsText(experiment), "; 'dtctl get trials ",
          experiment.experiment(), "' shows what each one breaks"));
    }
    DT_ASSIGN_OR_RETURN(const auto reported, FetchMetricNames(*client, experiment.experiment()));
    const std::string why = NoMetricText(experiment, reported);
    if (!why.empty()) {
      return absl::NotFoundError(absl::StrCat("of experiment ", experiment.experiment(), " ", why));
    }
    return absl::NotFoundError(absl::StrCat("no trial of experiment ", experiment.experiment(),
                                            " has a ", experiment.metric(),
                                            " yet; it comes with the first evaluation"));
  }
  const std::vector<Configuration> configurations = ConfigurationsOf(all);
  if (!HasReplicates(configurations)) {
    DT_ASSIGN_OR_RETURN(const Listing listing, BestTrials(*client, state, paths, count));
    Print(session, listing);
    const Goal goal = GoalOf(experiment.goal());
    const std::string better =
        BetterButEarlyText(Ranked(state.trials, goal, state.early), goal, experiment.metric());
    if (!better.empty()) session.Note(better + ".");
    return ExitCode::kOk;
  }
  DT_ASSIGN_OR_RETURN(const Listing listing,
                      BestConfigurations(*client, configurations, state, paths, count));
  if (listing.items.empty()) {
    return absl::NotFoundError(absl::StrCat("no trial of experiment ", experiment.experiment(),
                                            " has finished, and means are over those that have"));
  }
  Print(session, listing);
  return ExitCode::kOk;
}

}  // namespace

void AddBestCommand(CommandTree& tree) {
  auto best = std::make_shared<BestOptions>();
  CLI::App* app = tree.Add(
      &tree.app(), "best",
      "The best trials by the experiment's metric, or the Pareto front of several metrics; "
      "with seeds, configurations by mean",
      "dtctl best last\n"
      "dtctl best 12 -k 5\n"
      "dtctl best 12 -o json | jq -r '.items[0].checkpoint.path'");
  app->add_option("EXP", best->selector, "12, or last for the newest")->required();
  app->add_option("-k", best->count, "How many to show; unless given 1, or the Pareto front")
      ->option_text("N");
  tree.SetCommand(app, {[best](Session& session) { return Best(session, *best); }, kListFormats});
}

}  // namespace dt::cli
