// follow_commands.cc: dtctl follow | wait | best.
#include <map>
#include <memory>

#include "absl/strings/str_cat.h"
#include "cli/commands/app.h"
#include "cli/remote/follow.h"
#include "cli/view/format.h"
#include "common/status.h"

namespace dt::cli {
namespace {

struct WaitOptions {
  std::string selector;
  std::string until = "done";
  std::string timeout;
};

absl::StatusOr<ExitCode> Wait(Session& session, const WaitOptions& options) {
  static const std::map<std::string, Until> kWords = {
      {"done", Until::kDone}, {"running", Until::kRunning}, {"first-step", Until::kFirstStep}};
  const auto until = kWords.find(options.until);
  if (until == kWords.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'--for ", Printable(options.until), "' is unknown; use done, running or first-step"));
  }
  DT_ASSIGN_OR_RETURN(const Selector selector, session.Choose(options.selector));
  absl::Duration timeout = absl::InfiniteDuration();
  if (!options.timeout.empty()) {
    DT_ASSIGN_OR_RETURN(timeout, ParseDuration(options.timeout));
  }
  return WaitUntil(session, selector, until->second, timeout);
}

struct BestOptions {
  std::string selector;
  int64_t count = 1;
};

Json BestJson(const v1::TrialSummary& trial,
              const std::optional<v1::CheckpointSummary>& checkpoint) {
  Json json = TrialJson(trial);
  json["checkpoint"] = checkpoint.has_value() ? CheckpointJson(*checkpoint) : Json(nullptr);
  return json;
}

absl::StatusOr<ExitCode> Best(Session& session, const BestOptions& options) {
  DT_ASSIGN_OR_RETURN(const Selector selector, session.ChooseExperiment(options.selector));
  DT_RETURN_IF_ERROR(CheckAtLeast("-k", options.count, 1));
  const auto count = static_cast<size_t>(options.count);
  DT_ASSIGN_OR_RETURN(Client * client, session.Connect());
  auto request = Select<v1::GetExperimentRequest>(selector);
  DT_ASSIGN_OR_RETURN(const auto paths, FetchParameters(*client, request));
  DT_ASSIGN_OR_RETURN(LiveState state, FetchExperiment(*client, {false, request.experiment()}));
  const v1::ExperimentSummary& experiment = state.experiment;
  std::erase_if(state.trials, [](const auto& t) { return !std::isfinite(t.metric_value()); });
  if (state.trials.empty()) {
    return absl::NotFoundError(absl::StrCat("no trial of experiment ", experiment.experiment(),
                                            " has a ", experiment.metric(),
                                            " yet; it comes with the first evaluation"));
  }
  Listing listing;
  listing.kind = "BestTrialList";
  listing.table = ResultTable(state, count);
  listing.table.columns.push_back(
      {"CHECKPOINT UNDER --storage", Align::kLeft, Shown::kAlways, "CHECKPOINT"});
  const auto ranked = Ranked(state.trials, GoalOf(experiment.goal()));
  for (size_t i = 0; i < ranked.size() && i < count; ++i) {
    DT_ASSIGN_OR_RETURN(const auto checkpoint,
                        FindBestCheckpoint(*client, experiment.experiment(), ranked[i]->trial()));
    listing.table.rows[i].push_back(
        {checkpoint.has_value() ? Printable(checkpoint->checkpoint().path()) : kNone});
    listing.items.push_back(BestJson(*ranked[i], checkpoint));
    listing.names.push_back(TrialName(*ranked[i]));
  }
  listing.columns = WithParameters(
      CsvColumns(BestJson(Whole<v1::TrialSummary>(), Whole<v1::CheckpointSummary>())), paths);
  Print(session, listing);
  return ExitCode::kOk;
}

}  // namespace

void AddFollowCommands(CommandTree& tree) {
  auto followed = std::make_shared<std::string>();
  CLI::App* app =
      tree.Add(&tree.app(), "follow", "Watch an experiment until it ends, then show its results",
               "dtctl follow last\n"
               "dtctl follow 12 > follow.log   # a line per change");
  app->add_option("EXP", *followed, "12, or last for the newest")->required();
  tree.OnRun(app, {[followed](Session& session) -> absl::StatusOr<ExitCode> {
               DT_ASSIGN_OR_RETURN(const Selector selector, session.ChooseExperiment(*followed));
               return FollowExperiment(session, selector);
             }});

  auto wait = std::make_shared<WaitOptions>();
  app = tree.Add(&tree.app(), "wait",
                 "Wait in silence; exit 0 when finished, 10 when failed, 11 when cancelled",
                 "dtctl wait last && dtctl best last\n"
                 "dtctl wait 12 --for first-step --timeout 5m\n"
                 "dtctl wait 12/3");
  app->add_option("SEL", wait->selector, "12, 12/3, last or last/3")->required();
  tree.SetWords(
      app->add_option("--for", wait->until,
                      "done, running (a trial trains), or first-step (a trial made a step)")
          ->option_text("WHAT"),
      {"done", "running", "first-step"});
  app->add_option("--timeout", wait->timeout, "Give up after this, such as 90s or 2h, and exit 8")
      ->option_text("DURATION");
  tree.OnRun(app, {[wait](Session& session) { return Wait(session, *wait); }});

  auto best = std::make_shared<BestOptions>();
  app = tree.Add(&tree.app(), "best", "The best trials by the experiment's metric",
                 "dtctl best last\n"
                 "dtctl best 12 -k 5\n"
                 "dtctl best 12 -o json | jq -r '.items[0].checkpoint.path'");
  app->add_option("EXP", best->selector, "12, or last for the newest")->required();
  app->add_option("-k", best->count, "How many to show; 1 unless given")->option_text("N");
  tree.OnRun(app, {[best](Session& session) { return Best(session, *best); }, kListFormats});
}

}  // namespace dt::cli
