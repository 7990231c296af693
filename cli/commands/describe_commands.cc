// describe_commands.cc: dtctl describe | explain: all about an experiment or trial, with reasons.
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "api/pipeline_wait.h"
#include "api/spec_file.h"
#include "cli/commands/attempt_facts.h"
#include "cli/commands/code.h"
#include "cli/commands/command_tree.h"
#include "cli/commands/search_text.h"
#include "cli/remote/follow.h"
#include "cli/view/table.h"
#include "cli/view/trial_table.h"
#include "cli/view/words.h"
#include "common/collectives.h"
#include "common/status.h"
#include "spec/notify.h"
#include "spec/program.h"
#include "spec/spec.h"

namespace dt::cli {
namespace {

void AppendTable(std::vector<Line>& lines, const Table& table, int width) {
  constexpr int kIndent = 2;
  for (Line& line : LayOut(table, {width == 0 ? 0 : std::max(1, width - kIndent)})) {
    line.insert(line.begin(), {std::string(kIndent, ' ')});
    lines.push_back(std::move(line));
  }
}

// Shortens a fingerprint to digits that tell two apart. JSON has all digits.
std::string ShortFingerprint(const std::string& fingerprint) {
  constexpr size_t kShown = 12;
  return Printable(fingerprint.size() > kShown ? fingerprint.substr(0, kShown) + "…" : fingerprint);
}

Table ProvenanceTable(const std::vector<v1::TrialSummary>& trials) {
  Table table;
  table.columns = {{"TRIAL"},
                   {"BUILD"},
                   {"LIBTORCH", Align::kLeft, Shown::kAlways, "", 8},
                   {"DEVICE", Align::kLeft, Shown::kAlways, "", 8},
                   {"HOST", Align::kLeft, Shown::kAlways, "", 6},
                   {"DATA"},
                   {"SEED", Align::kRight}};
  for (const v1::TrialSummary& trial : trials) {
    const v1::Provenance& provenance = trial.provenance();
    if (provenance.program_version().empty()) continue;  // has never been prepared
    table.rows.push_back({{TrialName(trial)},
                          {BuildText(provenance)},
                          {TorchText(provenance)},
                          {Printable(provenance.device_name())},
                          {Printable(provenance.host())},
                          {ShortFingerprint(trial.data_fingerprint())},
                          {absl::StrCat(trial.seed())}});
  }
  LeaveOutEmpty(table, {"LIBTORCH", "DEVICE", "DATA"});  // a program has none
  return table;
}

// Returns who paused the experiment, or how to fix the reason where the coordinator did; "" if it
// is not paused.
Cell PausedCell(const v1::ExperimentSummary& experiment) {
  if (!experiment.paused()) return {};
  const std::string& why = experiment.paused_why();
  if (!why.empty()) return {Printable(why), Style::kWarn};
  return {absl::StrCat("by ", Printable(experiment.paused_by()))};
}

// Returns the command as in the file; "" where dtrain trains itself.
std::string RunsText(const v1::Spec& base) {
  return base.run().empty() && !base.command().empty() ? spec::FieldText(base, "command")
                                                       : base.run();
}

void AppendSearch(std::vector<Line>& lines, const v1::ExperimentSpec& spec) {
  AppendFact(lines, "search", {MethodText(spec)});
  for (const v1::Parameter& parameter : spec.parameters()) {
    AppendFact(lines, &parameter == &spec.parameters(0) ? "parameters" : "",
               {absl::StrCat(Printable(parameter.path()), ": ", VariesText(parameter))});
  }
  if (!spec.seeds().empty()) AppendFact(lines, "seeds", {absl::StrJoin(spec.seeds(), ", ")});
  if (spec.include_size() > 0) {
    AppendFact(lines, "included", {Plural(spec.include_size(), "combination")});
  }
  if (spec.exclude_size() > 0) {
    AppendFact(lines, "excluded", {Plural(spec.exclude_size(), "combination")});
  }
  if (spec.search().max_concurrent() > 0) {
    AppendFact(lines, "at once",
               {absl::StrCat("at most ", Plural(spec.search().max_concurrent(), "trial"))});
  }
  const v1::Resources& resources = spec.base().resources();
  std::string bounds;
  if (resources.min_gpus() > 0) absl::StrAppend(&bounds, ", at least ", resources.min_gpus());
  if (resources.max_gpus() > 0) absl::StrAppend(&bounds, ", at most ", resources.max_gpus());
  AppendFact(lines, "each trial",
             {absl::StrCat(Plural(resources.gpus(), "slot"), " of ", Printable(resources.device()),
                           bounds)});
}

// Appends the exact packages of the environment, several on a line, or its exact image.
void AppendPackages(std::vector<Line>& lines, const v1::GetExperimentResponse& of) {
  const char* key = of.spec().base().environment().image().empty() ? "packages" : "image";
  AppendFact(lines, key, {Printable(absl::StrReplaceAll(of.environment_lock(), {{"\n", "  "}}))});
}

void AppendNotify(std::vector<Line>& lines, const v1::Notify& notify) {
  if (notify.url().empty()) return;
  AppendFact(lines, "tells",
             {absl::StrCat(Printable(notify.url()), " of ", Printable(spec::NoticeText(notify)))});
}

void AppendEdits(std::vector<Line>& lines, const v1::GetExperimentResponse& found, int width) {
  if (found.edits().empty()) return;
  Table table;
  table.columns = {{"WHEN"}, {"WHO"}, {"CHANGE"}};
  for (const v1::ExperimentEdit& edit : found.edits()) {
    table.rows.push_back(
        {{FormatLocalTime(edit.wall_ms())}, {Printable(edit.who())}, {Printable(edit.what())}});
  }
  AppendTitle(lines, "changes");
  AppendTable(lines, table, width);
}

void AppendBest(std::vector<Line>& lines, const LiveState& state) {
  const v1::ExperimentSummary& experiment = state.experiment;
  AppendFact(lines, "front", {report::FrontText(experiment), Style::kGood});
  AppendFact(lines, "constraints", {report::ConstraintsText(experiment)});
  if (experiment.best_trial() == 0 || !experiment.metrics().empty()) return;
  AppendFact(
      lines, "best",
      {absl::StrCat(experiment.experiment(), "/", experiment.best_trial(), "  ",
                    Printable(experiment.metric()), " ", FormatLoss(experiment.best_value())),
       Style::kGood});
  const Goal goal = GoalOf(experiment.goal());
  AppendFact(
      lines, "but",
      {BetterButEarlyText(Ranked(state.trials, goal, state.early), goal, experiment.metric())});
}

std::vector<Line> ExperimentLines(const v1::GetExperimentResponse& found, const LiveState& state,
                                  const std::string& waits, const std::string& no_metric,
                                  int width) {
  const v1::ExperimentSummary& experiment = found.summary();
  std::vector<Line> lines = {{{absl::StrCat("experiment ", experiment.experiment()), Style::kBold},
                              {"  " + Printable(experiment.name())}}};
  AppendFact(lines, "state", StateCell(experiment));
  const size_t early = CountStoppedEarly(state.trials);
  AppendFact(
      lines, "progress",
      {absl::StrCat(FormatRatio(experiment.progress_ratio()), "; ",
                    Plural(experiment.trials(), "trial"), ": ", experiment.running(), " running, ",
                    experiment.pending(), " pending, ", experiment.finished(), " finished, ",
                    experiment.cancelled(), " cancelled, ", FailedText(experiment),
                    early == 0 ? "" : absl::StrCat("; ", early, " stopped early"))});
  AppendFact(lines, "to come", {ToComeText(experiment)});
  AppendFact(lines, "waits for", {waits});
  AppendFact(lines, "search ended", {Printable(experiment.search_end())});
  AppendFact(lines, "no metric", {no_metric, Style::kWarn});
  AppendFact(lines, "note", {Printable(experiment.note())});
  if (experiment.archived()) AppendFact(lines, "archived", {"lists leave it out"});
  AppendFact(lines, "paused", PausedCell(experiment));
  if (experiment.priority() != 0) {
    AppendFact(lines, "priority", {absl::StrCat(experiment.priority())});
  }
  if (experiment.slots_held() > 0) {
    AppendFact(lines, "slots held", {FormatCount(experiment.slots_held())});
  }
  AppendFact(lines, "description", {Printable(found.spec().description())});
  for (const v1::Label& label : experiment.labels()) {
    AppendFact(lines, "label", {Printable(absl::StrCat(label.key(), "=", label.value()))});
  }
  AppendFact(lines, "file", {Printable(found.file_name())});
  const std::string by = Printable(experiment.submitted_by());
  AppendFact(lines, "submitted",
             {absl::StrCat(FormatLocalTime(experiment.submitted_wall_ms()),
                           by.empty() ? "" : absl::StrCat(" by ", by))});
  AppendFact(lines, "ended", {FormatLocalTime(experiment.ended_wall_ms())});
  AppendFact(lines, "runs", {Printable(RunsText(found.spec().base()))});
  AppendFact(lines, "seed", {absl::StrCat(found.spec().base().seed())});
  AppendSearch(lines, found.spec());
  AppendNotify(lines, found.spec().notify());
  if (found.spec().has_code()) {
    const std::vector<std::string> code = CodeLines(found.spec().code());
    for (const std::string& line : code)
      AppendFact(lines, &line == &code.front() ? "code" : "", {line});
  }
  AppendPackages(lines, found);
  AppendBest(lines, state);
  AppendEdits(lines, found, width);
  AppendTitle(lines, "trials");
  AppendTable(lines, ResultTable(state, state.trials.size()), width);
  const Table provenance = ProvenanceTable(state.trials);
  if (!provenance.rows.empty()) {
    AppendTitle(lines, "provenance");
    AppendTable(lines, provenance, width);
  }
  return lines;
}

Cell TrialStateCell(const v1::TrialSummary& trial) {
  Cell cell = StateCell(trial);
  if (trial.target_steps() > 0) absl::StrAppend(&cell.text, ", step ", StepText(trial));
  return cell;
}

// Returns the text of a collective of the newest logged step.
std::string CollectiveText(const v1::Collective& one) {
  const double bus = one.bytes() * BusFactor(one.op(), std::max(1U, one.ranks()));
  std::string text = absl::StrFormat(
      "%.2f MB among %u ranks of the %s axis in %.2f ms; %.2f ms waited for", one.bytes() / 1e6,
      one.ranks(), Printable(one.axis()), one.seconds() * 1000, one.exposed_seconds() * 1000);
  if (one.seconds() > 0) {
    absl::StrAppendFormat(&text, "; bus %.2f GB/s", bus / one.seconds() / 1e9);
  }
  return text;
}

void AppendNumbers(std::vector<Line>& lines, const v1::TrialSummary& trial) {
  if (trial.has_latest()) AppendFact(lines, "loss", {FormatLoss(trial.latest().loss())});
  AppendFact(lines, "val loss", {FormatLoss(trial.val_loss())});
  AppendFact(lines, "best", {BestLossText(trial)});
  AppendFact(lines, "tokens/s", {RateText(trial)});
  if (const std::string share = CommShareText(trial); share != kNone) {
    AppendFact(
        lines, "communication",
        {absl::StrCat(share, " of a step, ", FormatRatio(trial.comm_exposed_ratio()), " exposed")});
  }
  for (const v1::Collective& one : trial.latest().collectives()) {
    AppendFact(lines, absl::StrCat(Printable(one.op()), " "), {CollectiveText(one)});
  }
  if (trial.model_parameters() > 0) {
    AppendFact(lines, "parameters", {FormatRate(static_cast<double>(trial.model_parameters()))});
  }
  if (!Ended(trial.state())) AppendFact(lines, "time left", {FormatDuration(trial.eta_seconds())});
}

// Returns a trial's newest validation with all its measurements; step 0 if there is none.
absl::StatusOr<v1::Evaluation> FindValidation(Client& client, const v1::TrialSummary& trial) {
  v1::ReadMetricsRequest request;
  request.set_experiment(trial.experiment());
  request.set_trial(trial.trial());
  request.set_page_size(1000);
  v1::Evaluation newest;
  // Evaluations come before all rows.
  for (;;) {
    DT_ASSIGN_OR_RETURN(const v1::ReadMetricsResponse page, client.ReadMetrics(request));
    for (const v1::EvaluationRow& row : page.evaluations()) {
      const v1::Evaluation& one = row.evaluation();
      if (one.split() == "val" && one.step() >= newest.step()) newest = one;
    }
    if (page.rows_size() > 0 || page.next_page_token().empty()) return newest;
    request.set_page_token(page.next_page_token());
  }
}

// Returns the time that stages waited in the newest logged step, beside the formula.
std::string BubbleText(const v1::TrialSummary& trial, const v1::ExperimentSpec& file) {
  const auto wait = api::PipelineWaitOf(trial, file);
  if (!wait.has_value()) return "";
  return absl::StrCat(FormatRatio(wait->waited_ratio), " of a step in which stages waited; ",
                      FormatRatio(wait->formula_ratio), " by the formula, where all cost alike");
}

std::vector<Line> TrialLines(const v1::GetExperimentResponse& experiment,
                             const v1::ExplainTrialResponse& found,
                             const v1::Evaluation& evaluation, const Hang& hang) {
  const std::string& metric = experiment.summary().metric();
  const v1::TrialSummary& trial = found.trial();
  const v1::Provenance& provenance = trial.provenance();
  std::vector<Line> lines = {
      {{absl::StrCat("trial ", TrialName(trial)), Style::kBold}, {"  " + AssignmentsText(trial)}}};
  AppendFact(lines, "state", TrialStateCell(trial));
  AppendFact(lines, "why", {Printable(found.explanation())});
  AppendFact(lines, "message", {Printable(trial.message())});
  AppendFact(lines, "chosen by", {Printable(trial.chosen())});
  AppendNumbers(lines, trial);
  AppendFact(lines, "bubble", {BubbleText(trial, experiment.spec())});
  AppendFact(lines, "infeasible", {Printable(trial.infeasible()), Style::kWarn});
  AppendFact(lines, "objectives", {report::ObjectivesText(experiment.summary(), trial)});
  if (NeedsColumn(metric) && trial.objectives().empty()) {
    AppendFact(lines, "metric",
               {absl::StrCat(Printable(metric), " ", MetricText(trial),
                             trial.metric_step() == 0 ? "" : ", best " + BestText(trial))});
  }
  if (evaluation.has_hellaswag_acc()) {
    AppendFact(
        lines, "HellaSwag",
        {absl::StrFormat("%.2f%%, normalised %.2f%%, at step %d", evaluation.hellaswag_acc() * 100,
                         evaluation.hellaswag_acc_norm() * 100, evaluation.step())});
  }
  AppendFact(lines, "started", {FormatLocalTime(trial.started_wall_ms())});
  AppendFact(lines, "ended", {FormatLocalTime(trial.ended_wall_ms())});
  if (trial.has_last_checkpoint()) {
    AppendFact(lines, "checkpoint",
               {absl::StrCat(Printable(trial.last_checkpoint().path()), " (storage ",
                             Printable(trial.last_checkpoint().storage_id()), ")")});
  }
  if (!provenance.program_version().empty()) {
    AppendTitle(lines, "provenance");
    AppendFact(lines, "build", {BuildText(provenance)});
    AppendFact(lines, "LibTorch", {TorchText(provenance)});
    AppendFact(
        lines, "device",
        {absl::StrCat(Printable(trial.device()), provenance.device_name().empty() ? "" : ", ",
                      Printable(provenance.device_name()), ", ",
                      Plural(provenance.threads(), "thread"), " a rank",
                      provenance.cores().empty()
                          ? ""
                          : absl::StrCat(" (rank 0 on cores ", Printable(provenance.cores()), ")"),
                      ", ", Plural(trial.world_size(), "rank"))});
    AppendFact(lines, "host", {Printable(provenance.host())});
    AppendFact(lines, "data", {Printable(trial.data_fingerprint())});
    AppendFact(lines, "seed", {absl::StrCat(trial.seed())});
  }
  for (const v1::AttemptSummary& attempt : found.attempts()) {
    AppendAttempt(lines, attempt, TrialName(trial), hang);
  }
  return lines;
}

absl::StatusOr<std::string> FindWaits(Client& client, const v1::GetExperimentResponse& found) {
  if (ToComeText(found.summary()).empty()) return "";
  DT_ASSIGN_OR_RETURN(const auto workers, client.ListWorkers());
  return WaitsText(found.spec(), found.summary(), workers);
}

// Returns why trials cannot be compared, once any reports have come; "" if a trial has the metric.
absl::StatusOr<std::string> FindNoMetric(Client& client, const LiveState& state) {
  const bool has = std::any_of(state.trials.begin(), state.trials.end(), [](const auto& trial) {
    return std::isfinite(trial.metric_value());
  });
  const uint64_t id = state.experiment.experiment();
  if (has || state.trials.empty() || AwaitsValidation(state.experiment)) return "";
  DT_ASSIGN_OR_RETURN(const auto reported, FetchMetricNames(client, id));
  if (reported.empty()) return "";  // no report is required
  return NoMetricText(state.experiment, reported);
}

absl::StatusOr<ExitCode> DescribeExperiment(Session& session, Client& client,
                                            const v1::GetExperimentResponse& found) {
  if (session.format() == Format::kYaml) {
    session.out() << session.ForTerminal(api::ExperimentFiles(found)) << std::flush;
    return ExitCode::kOk;
  }
  LiveState state;
  state.experiment = found.summary();
  v1::ListTrialsRequest request;
  request.set_experiment(found.summary().experiment());
  DT_ASSIGN_OR_RETURN(state.trials, client.ListTrials(request));
  state.early = EarlyOf(found.spec());
  state.program = spec::IsProgram(found.spec());
  DT_ASSIGN_OR_RETURN(const std::string waits, FindWaits(client, found));
  DT_ASSIGN_OR_RETURN(const std::string no_metric, FindNoMetric(client, state));
  if (session.format() == Format::kTable) {
    session.Print(ExperimentLines(found, state, waits, no_metric, session.width()));
    return ExitCode::kOk;
  }
  Json fields = ExperimentFields(found);
  fields["waits_for"] = waits.empty() ? Json(nullptr) : Json(waits);
  fields["no_metric"] = no_metric.empty() ? Json(nullptr) : Json(no_metric);
  fields["trial_list"] = Json::array();
  for (const auto& trial : state.trials) fields["trial_list"].push_back(TrialJson(trial));
  PrintDocument(session, "Experiment", fields);
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> Describe(Session& session, const std::string& written) {
  DT_ASSIGN_OR_RETURN(const Selector selector, session.Choose(written));
  DT_ASSIGN_OR_RETURN(Client * client, session.Connect());
  DT_ASSIGN_OR_RETURN(const auto found,
                      client->GetExperiment(Select<v1::GetExperimentRequest>(selector)));
  if (selector.trial == 0) return DescribeExperiment(session, *client, found);
  DT_ASSIGN_OR_RETURN(const auto trial,
                      client->ExplainTrial(Select<v1::ExplainTrialRequest>(selector)));
  switch (session.format()) {
    case Format::kYaml: {
      DT_ASSIGN_OR_RETURN(const std::string file, api::TrialFile(found, trial.trial()));
      session.out() << session.ForTerminal(file) << std::flush;
      break;
    }
    case Format::kJson:
      PrintDocument(session, "Trial", ExplainedFields(trial, FindHang(*client, trial)));
      break;
    case Format::kTable:
    case Format::kWide:
    case Format::kCsv:
    case Format::kJsonl:
    case Format::kName: {
      DT_ASSIGN_OR_RETURN(const v1::Evaluation newest, FindValidation(*client, trial.trial()));
      session.Print(TrialLines(found, trial, newest, FindHang(*client, trial)));
      break;
    }
  }
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> Explain(Session& session, const std::string& written) {
  DT_ASSIGN_OR_RETURN(const Selector selector, session.ChooseTrial(written));
  DT_ASSIGN_OR_RETURN(Client * client, session.Connect());
  DT_ASSIGN_OR_RETURN(const auto found,
                      client->ExplainTrial(Select<v1::ExplainTrialRequest>(selector)));
  const Hang hang = FindHang(*client, found);
  if (session.format() != Format::kTable) {
    PrintDocument(session, "Explanation", ExplainedFields(found, hang));
    return ExitCode::kOk;
  }
  const v1::TrialSummary& trial = found.trial();
  const Cell state = TrialStateCell(trial);
  std::vector<Line> lines = {{{absl::StrCat("trial ", TrialName(trial)), Style::kBold},
                              {"  "},
                              {state.text, state.style}}};
  lines.push_back({{"  " + Printable(found.explanation())}});
  for (const auto& attempt : found.attempts()) {
    AppendAttempt(lines, attempt, TrialName(trial), hang);
  }
  session.Print(lines);
  return ExitCode::kOk;
}

}  // namespace

void AddDescribeCommands(CommandTree& tree) {
  auto described = std::make_shared<std::string>();
  CLI::App* app = tree.Add(
      &tree.app(), "describe", "Everything about an experiment or a trial, with its provenance",
      "dtctl describe last\n"
      "dtctl describe 12/3\n"
      "dtctl describe 12 -o yaml     # the submitted file and the resolved one\n"
      "dtctl describe 12/3 -o yaml > again.yaml   # this trial alone");
  app->add_option("SEL", *described, "12, 12/3, last or last/3")->required();
  tree.SetCommand(app,
                  {[described](Session& s) { return Describe(s, *described); }, kDocumentFormats});

  auto explained = std::make_shared<std::string>();
  app = tree.Add(&tree.app(), "explain",
                 "Why a trial waits, or what happened to it, attempt by attempt",
                 "dtctl explain last/3\n"
                 "dtctl explain 12/3 -o json");
  app->add_option("TRIAL", *explained, "12/3 or last/3")->required();
  tree.SetCommand(app,
                  {[explained](Session& s) { return Explain(s, *explained); }, kDocumentFormats});
}

}  // namespace dt::cli
