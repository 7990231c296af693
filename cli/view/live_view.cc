#include "cli/view/live_view.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/view/glyphs.h"
#include "cli/view/json.h"
#include "cli/view/table.h"
#include "cli/view/trial_table.h"
#include "cli/view/words.h"
#include "common/text.h"

namespace dt::cli {
namespace {

constexpr int64_t kSummaryEveryMs = 10000;
constexpr size_t kProblemsShown = 3;
constexpr int kShortBar = 5;  // cells, in an ordinary terminal of 80 columns
// Lines of a frame besides trials: two of the head, the table's header, blanks, the lines of trials
// left out, of trials to come and of the first in the queue, problems, the notice.
constexpr int kOtherLines = 9 + static_cast<int>(kProblemsShown);

std::string StateGlyph(v1::TrialState state, Glyphs glyphs) {
  const bool unicode = glyphs == Glyphs::kUnicode;
  switch (state) {
    case v1::TRIAL_STARTING:
      return unicode ? "◐ " : "o ";
    case v1::TRIAL_RUNNING:
      return unicode ? "● " : "* ";
    case v1::TRIAL_STOPPING:
      return unicode ? "◌ " : "~ ";
    case v1::TRIAL_FINISHED:
      return unicode ? "✔ " : "+ ";
    case v1::TRIAL_FAILED:
      return unicode ? "✘ " : "x ";
    case v1::TRIAL_CANCELLED:
      return unicode ? "⊘ " : "- ";
    case v1::TRIAL_PENDING:
    case v1::TRIAL_STATE_UNSPECIFIED:
    case v1::TrialState_INT_MIN_SENTINEL_DO_NOT_USE_:
    case v1::TrialState_INT_MAX_SENTINEL_DO_NOT_USE_:
      return unicode ? "○ " : ". ";
  }
  return "  ";
}

bool Live(v1::TrialState state) { return !Ended(state) && state != v1::TRIAL_PENDING; }

uint32_t DoneCount(const v1::ExperimentSummary& experiment) {
  return experiment.finished() + experiment.failed() + experiment.cancelled();
}

double ElapsedSeconds(const v1::ExperimentSummary& experiment, int64_t now_wall_ms) {
  const int64_t end = experiment.ended_wall_ms() > 0 ? experiment.ended_wall_ms() : now_wall_ms;
  return std::max(0.0,
                  std::floor(static_cast<double>(end - experiment.submitted_wall_ms()) / 1000));
}

// Returns the trials that fit, live ones first, in order of number.
std::vector<const v1::TrialSummary*> Fitting(const std::vector<v1::TrialSummary>& trials,
                                             size_t count) {
  std::vector<const v1::TrialSummary*> chosen;
  chosen.reserve(trials.size());
  for (const v1::TrialSummary& trial : trials) chosen.push_back(&trial);
  if (chosen.size() > count) {
    const auto urgency = [](const v1::TrialSummary* trial) {
      return Live(trial->state()) ? 0 : trial->state() == v1::TRIAL_PENDING ? 1 : 2;
    };
    std::stable_sort(chosen.begin(), chosen.end(),
                     [&](const auto* a, const auto* b) { return urgency(a) < urgency(b); });
    chosen.resize(count);
    std::sort(chosen.begin(), chosen.end(),
              [](const auto* a, const auto* b) { return a->trial() < b->trial(); });
  }
  return chosen;
}

// Returns "… and 96 more: 90 pending, 6 finished", or "".
std::string LeftOut(const v1::ExperimentSummary& experiment,
                    const std::vector<const v1::TrialSummary*>& shown, Glyphs glyphs) {
  if (shown.size() >= experiment.trials()) return "";
  std::map<v1::TrialState, int64_t> hidden = {{v1::TRIAL_PENDING, experiment.pending()},
                                              {v1::TRIAL_RUNNING, experiment.running()},
                                              {v1::TRIAL_FINISHED, experiment.finished()},
                                              {v1::TRIAL_FAILED, experiment.failed()},
                                              {v1::TRIAL_CANCELLED, experiment.cancelled()}};
  for (const v1::TrialSummary* trial : shown) {
    --hidden[Live(trial->state()) ? v1::TRIAL_RUNNING : trial->state()];
  }
  std::vector<std::string> parts;
  for (const auto& [state, count] : hidden) {
    if (count <= 0) continue;
    parts.push_back(absl::StrCat(FormatCount(count), " ", Word(state)));
  }
  return absl::StrCat(glyphs == Glyphs::kUnicode ? "… and " : "... and ",
                      FormatCount(experiment.trials() - shown.size()),
                      " more: ", absl::StrJoin(parts, ", "));
}

std::vector<Line> Header(const LiveState& state, const LiveOptions& options) {
  const v1::ExperimentSummary& experiment = state.experiment;
  const char* dot = options.glyphs == Glyphs::kUnicode ? " · " : " - ";
  const Cell word = StateCell(experiment);
  Line first = {{absl::StrCat("experiment ", experiment.experiment()), Style::kBold},
                {absl::StrCat("  ", Printable(experiment.name()), "  ")},
                {word.text, word.style},
                {absl::StrCat(dot, FormatCount(DoneCount(experiment)), " of ",
                              Plural(TrialsInAll(experiment), "trial"), " done")}};
  if (experiment.failed() > 0) {
    first.push_back({absl::StrCat(dot, FailedText(experiment)), Style::kBad});
  }
  std::string times =
      absl::StrCat("  ", FormatElapsed(ElapsedSeconds(experiment, options.now_wall_ms)),
                   Ended(experiment.state()) ? "" : " so far");
  if (!Ended(experiment.state()) && experiment.eta_seconds() >= 0) {
    absl::StrAppend(&times, dot, "about ", FormatElapsed(std::ceil(experiment.eta_seconds())),
                    " left");
  }
  const int bar = std::clamp(options.width - DisplayWidth(times) - 8, 10, 50);
  const Line second = {{Bar(experiment.progress_ratio(), bar, options.glyphs), word.style},
                       {PadLeft(FormatRatio(experiment.progress_ratio()), 5), Style::kBold},
                       {times, Style::kDim}};
  return {first, second};
}

// Returns the names of several objectives; none of a single one.
std::vector<std::string> ObjectivesOf(const v1::ExperimentSummary& experiment) {
  return {experiment.metrics().begin(), experiment.metrics().end()};
}

Table TrialTable(const std::vector<const v1::TrialSummary*>& shown, const LiveState& state,
                 const LiveOptions& options) {
  using Trial = v1::TrialSummary;
  const std::string& metric = state.experiment.metric();
  const int bar = options.width >= 110 ? 20 : options.width >= 90 ? 14 : kShortBar;
  const Glyphs glyphs = options.glyphs;
  ListColumns<Trial> columns = {{{"TRIAL"}, [](const Trial& one) {
                                   const bool quiet = one.state() == v1::TRIAL_PENDING;
                                   return Cell{TrialName(one), quiet ? Style::kDim : Style::kBold};
                                 }}};
  AddParameters(columns, SweptParameters(state.trials));
  columns.push_back({{.header = "STATE", .min_width = 9}, [glyphs](const Trial& one) {
                       const Cell word = StateCell(one);
                       return Cell{StateGlyph(one.state(), glyphs) + word.text, word.style};
                     }});
  columns.push_back({{.header = bar == kShortBar ? "" : "PROGRESS", .leave_out = 2},
                     [bar, glyphs](const Trial& one) {
                       return Cell{Bar(Progress(one), bar, glyphs), StateCell(one).style};
                     }});
  AddColumns(columns, {kStep});
  const std::vector<std::string> objectives = ObjectivesOf(state.experiment);
  if (objectives.empty() && NeedsColumn(metric)) columns.push_back(MetricListColumn(metric));
  AddObjectives(columns, objectives);
  AddColumns(columns, BesideObjectives({kLoss}, objectives));
  if (const auto validated = BesideObjectives({kValLoss}, objectives); !validated.empty()) {
    AddColumns(columns, validated);
    columns.back().column.leave_out = 1;  // the results show it
  }
  AddColumns(columns, {kRate, kCommShare, kLeft});
  std::vector<Trial> trials;
  trials.reserve(shown.size());
  for (const Trial* trial : shown) trials.push_back(*trial);
  Table table = MakeTable(columns, trials);
  LeaveOutUntold(table, state.trials, state.program);
  return table;
}

// Returns the failed trials with reasons, newest last, and why the first of the queue waits.
std::vector<Line> Remarks(const LiveState& state) {
  std::vector<Line> lines;
  for (const v1::TrialSummary& trial : state.trials) {
    if (trial.state() != v1::TRIAL_FAILED) continue;
    lines.push_back({{TrialName(trial), Style::kBad}, {" " + Printable(trial.message())}});
  }
  if (lines.size() > kProblemsShown) {
    lines.erase(lines.begin(), lines.end() - static_cast<int64_t>(kProblemsShown));
  }
  for (Line& line : HintLines(state.trials)) lines.push_back(std::move(line));
  for (const v1::TrialSummary& trial : state.trials) {
    if (trial.state() != v1::TRIAL_PENDING || trial.waiting().empty()) continue;
    lines.push_back(
        {{absl::StrCat(TrialName(trial), " waits: ", Printable(trial.waiting())), Style::kDim}});
    break;
  }
  if (!state.notice.empty()) lines.push_back({{state.notice, Style::kWarn}});
  return lines;
}

// Returns " loss 3.1042", " accuracy 0.9100", or both, as far as known. Of several objectives all
// are named, each once.
std::string NumbersText(const v1::TrialSummary& trial, const v1::ExperimentSummary& experiment) {
  const std::string& metric = experiment.metric();
  std::string text;
  if (experiment.metrics().empty() && NeedsColumn(metric) && MetricText(trial) != kNone) {
    absl::StrAppend(&text, " ", Printable(metric), " ", MetricText(trial));
  }
  if (!absl::c_linear_search(experiment.metrics(), "loss") && LossOf(trial) != kNone) {
    absl::StrAppend(&text, " loss ", LossOf(trial));
  }
  const bool measured = std::any_of(trial.objectives().begin(), trial.objectives().end(),
                                    [](double value) { return std::isfinite(value); });
  if (measured) {
    absl::StrAppend(&text, text.empty() ? " " : ", ", report::ObjectivesText(experiment, trial));
  }
  return text;
}

std::string SummaryText(const LiveState& state) {
  const v1::ExperimentSummary& experiment = state.experiment;
  std::string text = absl::StrCat(experiment.experiment(), " ", Word(experiment.state()), ": ",
                                  FormatRatio(experiment.progress_ratio()), ", ",
                                  FormatCount(DoneCount(experiment)), " of ",
                                  Plural(TrialsInAll(experiment), "trial"), " done");
  if (!Ended(experiment.state()) && experiment.eta_seconds() >= 0) {
    absl::StrAppend(&text, ", about ", FormatElapsed(std::ceil(experiment.eta_seconds())), " left");
  }
  for (const v1::TrialSummary& trial : state.trials) {
    if (trial.state() != v1::TRIAL_RUNNING) continue;
    absl::StrAppend(&text, "; ", TrialName(trial), " step ", StepText(trial));
    absl::StrAppend(&text, NumbersText(trial, experiment));
    if (trial.tokens_per_second() > 0) {
      absl::StrAppend(&text, " ", FormatRate(trial.tokens_per_second()), " tokens/s");
    }
    if (CommShareText(trial) != kNone) {
      absl::StrAppend(&text, ", ", CommShareText(trial), " communication");
    }
    if (trial.eta_seconds() >= 0) {
      absl::StrAppend(&text, ", ", FormatShort(std::ceil(trial.eta_seconds())), " left");
    }
  }
  return text;
}

std::string ChangeText(const v1::TrialSummary& trial, uint32_t attempts_before,
                       const v1::ExperimentSummary& experiment) {
  std::string text = absl::StrCat(TrialName(trial), " ", StateCell(trial).text);
  if (Live(trial.state()) && trial.attempts() > 1 && trial.attempts() != attempts_before) {
    absl::StrAppend(&text, ", attempt ", trial.attempts());
  }
  if (trial.state() == v1::TRIAL_STARTING && !trial.workers().empty()) {
    absl::StrAppend(&text, " on ", Printable(absl::StrJoin(trial.workers(), ", ")));
  } else if (trial.state() == v1::TRIAL_PENDING && !trial.waiting().empty()) {
    absl::StrAppend(&text, ": ", Printable(trial.waiting()));
  } else if (Ended(trial.state())) {
    if (StepText(trial) != kNone) absl::StrAppend(&text, " at step ", StepText(trial));
    const std::string numbers = NumbersText(trial, experiment);
    if (!numbers.empty()) absl::StrAppend(&text, ",", numbers);
    if (!absl::c_linear_search(experiment.metrics(), "val_loss") &&
        std::isfinite(trial.val_loss())) {
      absl::StrAppend(&text, ", val loss ", FormatLoss(trial.val_loss()));
    }
    if (!trial.message().empty()) absl::StrAppend(&text, ": ", Printable(trial.message()));
    if (trial.state() != v1::TRIAL_FAILED && !trial.hint().empty()) {
      absl::StrAppend(&text, "; ", Printable(trial.hint()));
    }
  }
  return text;
}

// Returns the failed trial to look at: one that ran, rather than one that was given up because
// others had failed. Null: none failed.
const v1::TrialSummary* FailedIn(const std::vector<v1::TrialSummary>& trials) {
  const v1::TrialSummary* failed = nullptr;
  for (const v1::TrialSummary& trial : trials) {
    if (trial.state() != v1::TRIAL_FAILED) continue;
    if (trial.attempts() > 0) return &trial;
    if (failed == nullptr) failed = &trial;
  }
  return failed;
}

Line Hint(const std::string& command, const std::string& what) {
  return {{PadRight("  " + command, 46)}, {what, Style::kDim}};
}

// Returns the commands to type next.
std::vector<Line> Hints(const Results& results, const v1::TrialSummary* best) {
  const v1::ExperimentSummary& experiment = results.state.experiment;
  const std::string id = absl::StrCat(experiment.experiment());
  std::vector<Line> lines = {{{"Look further:", Style::kBold}}};
  if (experiment.failed() > 0) {
    const v1::TrialSummary* const failed = FailedIn(results.state.trials);
    if (failed != nullptr) {
      lines.push_back(Hint("dtctl explain " + TrialName(*failed), "why it failed"));
    }
    if (failed != nullptr && best == nullptr) {
      lines.push_back(Hint("dtctl logs " + TrialName(*failed), "what it printed"));
    }
    lines.push_back(
        Hint(absl::StrCat("dtctl retry ", id, " --failed"), "run the failed ones again"));
  }
  const std::string subject = best == nullptr ? id : TrialName(*best);
  lines.push_back(Hint("dtctl describe " + subject, "settings, provenance, attempts"));
  lines.push_back(Hint(absl::StrCat("dtctl metrics ", id, " > metrics.csv"), "every logged step"));
  lines.push_back(
      Hint(absl::StrCat("dtctl report ", id, " -o report.html"), "tables and figures, one file"));
  if (best != nullptr) {
    lines.push_back(Hint("dtctl logs " + TrialName(*best), "what it printed"));
  }
  if (!results.page.empty()) {
    lines.push_back(Hint(results.page, "the page: all of it in a browser"));
  }
  return lines;
}

}  // namespace

std::vector<Line> LiveFrame(const LiveState& state, const LiveOptions& options) {
  std::vector<Line> lines = Header(state, options);
  lines.emplace_back();
  const size_t room = static_cast<size_t>(std::max(1, options.rows - 1 - kOtherLines));
  const auto shown = Fitting(state.trials, room);
  const Table table = TrialTable(shown, state, options);
  for (Line& line : LayOut(table, {options.width})) lines.push_back(std::move(line));
  const std::string left_out = LeftOut(state.experiment, shown, options.glyphs);
  if (!left_out.empty()) lines.push_back({{left_out, Style::kDim}});
  if (const std::string to_come = ToComeText(state.experiment); !to_come.empty()) {
    lines.push_back({{absl::StrCat("to come: ", to_come), Style::kDim}});
  }
  const std::vector<Line> remarks = Remarks(state);
  if (!remarks.empty()) lines.emplace_back();
  lines.insert(lines.end(), remarks.begin(), remarks.end());
  const size_t limit = static_cast<size_t>(std::max(1, options.rows - 1));
  if (lines.size() > limit) lines.resize(limit);
  return lines;
}

std::vector<std::string> LiveLog::Update(const LiveState& state, int64_t now_wall_ms) {
  std::vector<std::string> texts;
  for (const v1::TrialSummary& trial : state.trials) {
    Seen& seen = seen_[trial.trial()];
    // A trial that waits from the start needs no line.
    const bool first = seen.state == v1::TRIAL_STATE_UNSPECIFIED;
    const bool news = !(first && trial.state() == v1::TRIAL_PENDING) &&
                      (seen.state != trial.state() || seen.attempts != trial.attempts());
    if (news) texts.push_back(ChangeText(trial, seen.attempts, state.experiment));
    seen = {trial.state(), trial.attempts()};
  }
  const std::string waiting = Printable(state.experiment.waiting());
  if (standstill_.IsDue(waiting, now_wall_ms)) {
    texts.push_back(absl::StrCat(state.experiment.experiment(), " does not run: ", waiting));
  }
  if (now_wall_ms >= next_summary_wall_ms_) {
    next_summary_wall_ms_ = now_wall_ms + kSummaryEveryMs;
    texts.push_back(SummaryText(state));
  }
  if (state.notice.empty() != notice_.empty()) {
    texts.push_back(state.notice.empty() ? "the coordinator answers again" : state.notice);
  }
  notice_ = state.notice;
  const std::string stamp =
      absl::StrCat("[", FormatElapsed(ElapsedSeconds(state.experiment, now_wall_ms)), "] ");
  for (std::string& text : texts) text.insert(0, stamp);
  return texts;
}

Table ResultTable(const LiveState& state, size_t count) {
  using Trial = v1::TrialSummary;
  const v1::ExperimentSummary& experiment = state.experiment;
  const auto ranked = Ranked(state.trials, GoalOf(experiment.goal()), state.early);
  ListColumns<Trial> columns = {{{"TRIAL"}, [](const Trial& one) { return Cell{TrialName(one)}; }}};
  AddParameters(columns, SweptParameters(state.trials));
  const std::vector<std::string> objectives = ObjectivesOf(experiment);
  AddObjectives(columns, objectives);
  if (NeedsColumn(experiment.metric()) && objectives.empty()) {
    columns.push_back(MetricListColumn(experiment.metric()));
  }
  AddColumns(columns, BesideObjectives({kBest, kValLoss, kLoss, kStep, kRate, kCommShare, kTime},
                                       objectives));
  std::vector<Trial> trials;
  for (size_t i = 0; i < ranked.size() && i < count; ++i) trials.push_back(*ranked[i]);
  Table table = MakeTable(columns, trials);
  if (!trials.empty() && report::Counts(trials[0])) {
    for (Cell& cell : table.rows[0]) cell.style = Style::kGood;
  }
  table.columns.push_back({.header = "STATE", .min_width = 9});
  for (size_t i = 0; i < trials.size(); ++i) table.rows[i].push_back(StateCell(trials[i]));
  LeaveOutUntold(table, state.trials, state.program);
  return table;
}

std::vector<Line> ResultLines(const Results& results, const LiveOptions& options) {
  const v1::ExperimentSummary& experiment = results.state.experiment;
  constexpr size_t kRowsShown = 30;
  const Cell word = StateCell(experiment);
  std::vector<Line> lines = {
      {{absl::StrCat("Experiment ", experiment.experiment(), " ", Printable(experiment.name()),
                     ": "),
        Style::kBold},
       {word.text, word.style},
       {absl::StrCat(" after ", FormatElapsed(ElapsedSeconds(experiment, options.now_wall_ms)))}}};
  if (const size_t early = CountStoppedEarly(results.state.trials); early > 0) {
    lines.push_back({{absl::StrCat(FormatCount(early), " of ", Plural(experiment.trials(), "trial"),
                                   " stopped early")}});
  }
  if (!experiment.search_end().empty()) {
    lines.push_back({{absl::StrCat("The search ended: ", Printable(experiment.search_end()))}});
  }
  lines.emplace_back();
  const Table table = ResultTable(results.state, kRowsShown);
  for (Line& line : LayOut(table, {options.width})) lines.push_back(std::move(line));
  if (results.state.trials.size() > kRowsShown) {
    lines.push_back({{absl::StrCat("and ", FormatCount(results.state.trials.size() - kRowsShown),
                                   " more: dtctl best ", experiment.experiment(), " -k ",
                                   results.state.trials.size()),
                      Style::kDim}});
  }
  lines.emplace_back();
  const auto ranked = Ranked(results.state.trials, GoalOf(experiment.goal()), results.state.early);
  const v1::TrialSummary* best =
      !ranked.empty() && report::Counts(*ranked.front()) ? ranked.front() : nullptr;
  if (!experiment.metrics().empty()) {
    lines.push_back({{"Pareto front:  ", Style::kBold}, {report::FrontText(experiment)}});
  } else if (best != nullptr) {
    lines.push_back(
        {{"Best trial:  ", Style::kBold},
         {TrialName(*best), Style::kGood},
         {absl::StrCat("  ", Printable(experiment.metric()), " ", FormatLoss(best->metric_value()),
                       "  ", AssignmentsText(*best))}});
    const std::string better =
        BetterButEarlyText(ranked, GoalOf(experiment.goal()), experiment.metric());
    if (!better.empty()) lines.push_back({{better, Style::kDim}});
  }
  if (results.best_checkpoint.has_value()) {
    const v1::CheckpointSummary& checkpoint = *results.best_checkpoint;
    const std::string seen = Printable(absl::StrJoin(checkpoint.seen_by(), ", "));
    lines.push_back(
        {{"Checkpoint:  ", Style::kBold},
         {Printable(checkpoint.checkpoint().path())},
         {absl::StrCat("  step ", checkpoint.checkpoint().step(),
                       std::isfinite(checkpoint.checkpoint().loss())
                           ? ", val loss " + FormatLoss(checkpoint.checkpoint().loss())
                           : "",
                       ", ", FormatBytes(static_cast<double>(checkpoint.checkpoint().bytes())),
                       seen.empty() ? "" : absl::StrCat(", under --storage of ", seen)),
          Style::kDim}});
  }
  if (best != nullptr || results.best_checkpoint.has_value()) lines.emplace_back();
  for (const auto& notes : {FailureLines(results.state.trials), HintLines(results.state.trials)}) {
    lines.insert(lines.end(), notes.begin(), notes.end());
    if (!notes.empty()) lines.emplace_back();
  }
  for (Line& line : Hints(results, best)) lines.push_back(std::move(line));
  return lines;
}

}  // namespace dt::cli
