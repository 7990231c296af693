#include "cli/commands/configurations.h"

#include "absl/strings/str_cat.h"
#include "cli/view/words.h"

namespace dt::cli {
namespace {

constexpr char kSeed[] = "seed";

std::vector<Swept> SweptIn(const std::vector<Configuration>& configurations) {
  std::vector<v1::TrialSummary> firsts;
  firsts.reserve(configurations.size());
  for (const Configuration& one : configurations) firsts.push_back(*one.trials.front());
  std::vector<Swept> swept = SweptParameters(firsts);
  std::erase_if(swept, [](const Swept& one) { return one.path == kSeed; });
  return swept;
}

}  // namespace

Listing ListConfigurations(const std::vector<Configuration>& configurations,
                           const v1::ExperimentSummary& experiment,
                           const std::vector<std::string>& paths) {
  Listing listing;
  listing.kind = "ConfigurationList";
  listing.empty = "No configurations yet.";
  const Goal goal = GoalOf(experiment.goal());
  const std::vector<Swept> swept = SweptIn(configurations);
  listing.table.columns = {{"TRIALS"}};
  for (const Swept& one : swept) {
    listing.table.columns.push_back({one.header, Align::kRight, Shown::kAlways, kCutHeader});
  }
  const std::vector<Column> numbers = {{absl::StrCat("MEAN ", Printable(experiment.metric())),
                                        Align::kRight, Shown::kAlways, kCutHeader},
                                       {"FINISHED", Align::kRight, Shown::kAlways, "FIN"},
                                       {"FAILED", Align::kRight, Shown::kWide},
                                       {"BEST", Align::kRight}};
  listing.table.columns.insert(listing.table.columns.end(), numbers.begin(), numbers.end());
  for (const Configuration& one : configurations) {
    std::vector<Cell> row = {{ConfigurationName(one)}};
    for (const Swept& parameter : swept) {
      row.push_back({AssignmentText(*one.trials.front(), parameter.path)});
    }
    const v1::TrialSummary* best = BestTrial(one, goal);
    row.insert(row.end(), {{SpreadText(one.metric), one.Complete() ? Style::kPlain : Style::kDim},
                           {absl::StrCat(one.metric.n, "/", one.trials.size())},
                           {absl::StrCat(one.failed), one.failed > 0 ? Style::kBad : Style::kPlain},
                           {best == nullptr ? kNone
                                            : absl::StrCat(FormatLoss(best->metric_value()), " (",
                                                           TrialName(*best), ")")}});
    listing.table.rows.push_back(std::move(row));
    listing.items.push_back(ConfigurationJson(one, experiment.metric()));
    listing.names.push_back(TrialName(*one.trials.front()));
  }
  // An empty configuration gives the columns, so that they are the same for any rows.
  const v1::TrialSummary none;
  Configuration whole;
  whole.trials = {&none};
  std::vector<std::string> parameters = paths;
  std::erase(parameters, kSeed);
  std::vector<std::string> columns;
  const Json json = ConfigurationJson(whole, "");
  for (const auto& [name, value] : json.items()) columns.push_back(name);
  listing.columns = WithParameters(columns, parameters);
  return listing;
}

}  // namespace dt::cli
