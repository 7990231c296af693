// importance_command.cc: dtctl importance: the importance of a search's parameters.
#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/commands/command_tree.h"
#include "cli/view/glyphs.h"
#include "cli/view/words.h"
#include "common/limits.h"
#include "common/status.h"
#include "report/analysis/parameter_importance.h"
#include "report/analysis/results.h"

namespace dt::cli {
namespace {

constexpr int kBarColumns = 24;

// Reads the evaluations of all trials, which come before all rows.
absl::Status ReadEvaluations(Client& client, report::Experiment& experiment) {
  v1::ReadMetricsRequest request;
  request.set_experiment(experiment.found.summary().experiment());
  request.set_page_size(static_cast<int>(limits::kPageMax));
  report::Collector collector(experiment);
  for (;;) {
    DT_ASSIGN_OR_RETURN(v1::ReadMetricsResponse page, client.ReadMetrics(request));
    const bool last = page.rows_size() > 0 || page.next_page_token().empty();
    page.clear_rows();
    collector.Add(page);
    if (last) break;
    request.set_page_token(page.next_page_token());
  }
  collector.Finish();
  return absl::OkStatus();
}

absl::StatusOr<report::Experiment> FetchValues(Client& client, const Selector& selector) {
  report::Experiment experiment;
  DT_ASSIGN_OR_RETURN(experiment.found,
                      client.GetExperiment(Select<v1::GetExperimentRequest>(selector)));
  const Selector fixed{false, experiment.found.summary().experiment()};
  DT_ASSIGN_OR_RETURN(auto trials, client.ListTrials(Select<v1::ListTrialsRequest>(fixed)));
  for (v1::TrialSummary& trial : trials) {
    experiment.trials.emplace_back().summary = std::move(trial);
  }
  // Only evaluations have values at rungs.
  if (experiment.found.spec().search().method() == "asha") {
    DT_RETURN_IF_ERROR(ReadEvaluations(client, experiment));
  }
  return experiment;
}

void AddRow(const report::ImportanceFindings& findings, const report::importance::Effect& effect,
            double largest, Glyphs glyphs, Table& table) {
  const bool pair = effect.factors.size() > 1;
  table.rows.push_back({{report::NameOf(findings, effect), pair ? Style::kDim : Style::kPlain},
                        {report::PercentText(effect.share)},
                        {absl::StrCat("± ", report::PercentText(effect.deviation)), Style::kDim},
                        {Bar(effect.share / largest, kBarColumns, glyphs), Style::kBusy}});
}

absl::StatusOr<ExitCode> Importance(Session& session, const std::string& written) {
  DT_ASSIGN_OR_RETURN(const Selector selector, session.ChooseExperiment(written));
  DT_ASSIGN_OR_RETURN(Client * client, session.Connect());
  DT_ASSIGN_OR_RETURN(const report::Experiment experiment, FetchValues(*client, selector));
  const absl::StatusOr<report::ImportanceFindings> found = report::AnalyseImportance(experiment);
  if (!found.ok()) {
    const uint64_t id = experiment.found.summary().experiment();
    return absl::FailedPreconditionError(
        absl::StrCat("experiment ", id, ": ", std::string(found.status().message())));
  }
  Listing listing;
  listing.kind = "ImportanceList";
  const double largest = std::max(found->found.single[0].share,
                                  found->found.pairs.empty() ? 0 : found->found.pairs[0].share);
  const Glyphs glyphs = session.terminal().Unicode() ? Glyphs::kUnicode : Glyphs::kAscii;
  listing.table.columns = {{"PARAMETER", Align::kLeft, Shown::kAlways, "", 12},
                           {"SHARE", Align::kRight},
                           {"", Align::kRight, Shown::kAlways, "", 0, 1},
                           {"", Align::kLeft, Shown::kAlways, "", 0, 2}};
  for (const report::importance::Effect& effect : found->found.single) {
    AddRow(*found, effect, largest, glyphs, listing.table);
  }
  for (const report::importance::Effect& effect : report::ShownPairs(*found)) {
    AddRow(*found, effect, largest, glyphs, listing.table);
  }
  listing.columns = {"parameters", "share", "deviation"};
  listing.items = report::ImportanceItems(*found);
  Print(session, listing);
  session.Note(absl::StrCat("\n", report::ReachText(*found)));
  return ExitCode::kOk;
}

}  // namespace

void AddImportanceCommand(CommandTree& tree) {
  auto written = std::make_shared<std::string>();
  CLI::App* app =
      tree.Add(&tree.app(), "importance", "Which parameters the results depend on, and how much",
               "dtctl importance last\n"
               "dtctl importance 12 -o csv\n"
               "dtctl importance 12 -o json | jq -r '.items[0].parameters[]'");
  app->add_option("EXP", *written, "12, or last for the newest")->required();
  tree.SetCommand(app, {[written](Session& session) { return Importance(session, *written); },
                        {Format::kTable, Format::kJson, Format::kYaml, Format::kCsv}});
}

}  // namespace dt::cli
