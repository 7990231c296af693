#include "cli/view/top_panes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
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

// Sort key of a row: a number, then a text where the numbers are equal. NaN is unknown.
struct SortKey {
  double number = 0;
  std::string text;
};

struct PaneRow {
  std::vector<Cell> cells;
  std::vector<SortKey> keys;  // for each sortable column
  std::string found_in;       // text that the filter searches
};

// A column, and whether rows have a key for it.
enum class Sorted { kNo, kYes };
struct PaneColumn {
  Column column;
  Sorted sorted = Sorted::kNo;
};

Column Number(const char* header, const char* short_header, int leave_out) {
  return {.header = header,
          .align = Align::kRight,
          .short_header = short_header,
          .leave_out = leave_out};
}

const std::vector<PaneColumn>& ColumnsOf(Pane pane) {
  static const std::vector<PaneColumn> kExperiments = {
      {{"EXP"}, Sorted::kYes},
      {{.header = "NAME", .min_width = 8}, Sorted::kYes},
      {{"STATE"}, Sorted::kYes},
      {{"PROGRESS"}, Sorted::kYes},
      {Number("DONE", "", 0)},
      {Number("RUN", "", 0), Sorted::kYes},
      {Number("WAIT", "", 0), Sorted::kYes},
      {Number("FAILED", "FAIL", 3), Sorted::kYes},
      {Number("BEST", "", 2)},
      {{.header = "METRIC", .leave_out = 1}},
      {Number("LEFT", "", 0), Sorted::kYes}};
  static const std::vector<PaneColumn> kTrials = {
      {{"TRIAL"}, Sorted::kYes},
      {Number("STEP", "", 0)},
      {{"PROGRESS"}, Sorted::kYes},
      {Number("LOSS", "", 0), Sorted::kYes},
      {Number("TOKENS/S", "TOK/S", 0), Sorted::kYes},
      {Number("COMM SHARE", "COMM", 3), Sorted::kYes},
      {{.header = "SLOWEST RANK", .short_header = "SLOWEST", .leave_out = 2}, Sorted::kYes},
      {Number("LEFT", "", 0), Sorted::kYes},
      {{.header = "WORKERS", .min_width = 7}},
      {{.header = "PARAMETERS", .min_width = 20, .leave_out = 1}}};
  static const std::vector<PaneColumn> kWorkers = {
      {{.header = "WORKER", .min_width = 8}, Sorted::kYes},
      {{"STATE"}, Sorted::kYes},
      {{.header = "TASK", .min_width = 8}, Sorted::kYes},
      {Number("LAST SEEN", "SEEN", 0), Sorted::kYes},
      {{"DEVICE"}},
      {{.header = "DEVICE NAME", .min_width = 8, .leave_out = 2}},
      {{.header = "HOST", .min_width = 8, .leave_out = 1}}};
  switch (pane) {
    case Pane::kExperiments:
      return kExperiments;
    case Pane::kTrials:
      return kTrials;
    case Pane::kWorkers:
      return kWorkers;
  }
  return kTrials;
}

int BarWidth(int width) { return width >= 150 ? 20 : width >= 110 ? 12 : 8; }

double KnownOr(double value, bool known) { return known ? value : std::nan(""); }

PaneRow ExperimentRow(const v1::ExperimentSummary& one, int width, Glyphs glyphs) {
  const uint32_t done = one.finished() + one.failed() + one.cancelled();
  const Cell word = StateCell(one);
  const std::string name = Printable(one.name());
  const bool several = !one.metrics().empty();
  PaneRow row;
  row.cells = {{absl::StrCat(one.experiment()), Style::kBold},
               {name},
               word,
               {absl::StrCat(Bar(one.progress_ratio(), BarWidth(width), glyphs),
                             PadLeft(FormatRatio(one.progress_ratio()), 5)),
                word.style},
               {absl::StrCat(done, "/", TrialsInAll(one))},
               {absl::StrCat(one.running())},
               {absl::StrCat(one.pending())},
               {absl::StrCat(one.failed()), one.failed() > 0 ? Style::kBad : Style::kPlain},
               {several                 ? report::FrontSizeText(one)
                : one.best_trial() == 0 ? kNone
                                        : FormatLoss(one.best_value())},
               {Printable(several ? absl::StrJoin(one.metrics(), ", ") : one.metric())},
               {one.eta_seconds() >= 0 ? FormatShort(std::ceil(one.eta_seconds())) : kNone}};
  row.keys = {{static_cast<double>(one.experiment()), ""},
              {0, name},
              {0, word.text},
              {one.progress_ratio(), ""},
              {static_cast<double>(one.running()), ""},
              {static_cast<double>(one.pending()), ""},
              {static_cast<double>(one.failed()), ""},
              {KnownOr(one.eta_seconds(), one.eta_seconds() >= 0), ""}};
  row.found_in = absl::StrCat(one.experiment(), " ", name, " ", word.text);
  return row;
}

bool HasSlowest(const v1::TrialSummary& trial) {
  return trial.world_size() > 1 && trial.has_latest();
}

// Returns "1 +12ms": the rank, and how much longer it computed than the fastest.
std::string SlowestText(const v1::TrialSummary& trial) {
  if (!HasSlowest(trial)) return kNone;
  const double milliseconds = trial.latest().rank_skew_seconds() * 1000;
  return absl::StrCat(trial.latest().slowest_rank(), " +", std::llround(milliseconds), "ms");
}

PaneRow TrialRow(const v1::TrialSummary& trial, int width, Glyphs glyphs) {
  const bool running = trial.state() == v1::TRIAL_RUNNING;
  const Cell word = StateCell(trial);
  const std::string workers = Printable(absl::StrJoin(trial.workers(), " "));
  const std::string parameters = AssignmentsText(trial);
  const bool left = running && trial.eta_seconds() >= 0;
  PaneRow row;
  row.cells = {{TrialName(trial), Style::kBold},
               {StepText(trial)},
               {running ? Bar(Progress(trial), BarWidth(width), glyphs) : word.text, word.style},
               {trial.has_latest() ? FormatLoss(trial.latest().loss()) : kNone},
               {RateText(trial)},
               {CommShareText(trial)},
               {SlowestText(trial)},
               {left ? FormatShort(std::ceil(trial.eta_seconds())) : kNone},
               {workers},
               {parameters, Style::kDim}};
  row.keys = {{static_cast<double>(trial.experiment()) * 1e6 + trial.trial(), ""},
              {Progress(trial), ""},
              {KnownOr(trial.latest().loss(), trial.has_latest()), ""},
              {KnownOr(trial.tokens_per_second(), trial.tokens_per_second() > 0), ""},
              {KnownOr(trial.comm_ratio(), trial.world_size() > 1), ""},
              {KnownOr(trial.latest().rank_skew_seconds(), HasSlowest(trial)), ""},
              {KnownOr(trial.eta_seconds(), left), ""}};
  row.found_in = absl::StrCat(TrialName(trial), " ", word.text, " ", workers, " ", parameters);
  return row;
}

Style StyleOfWorker(const v1::WorkerSummary& worker) {
  if (worker.state() == "busy") return Style::kBusy;
  if (worker.state() == "idle") return Style::kGood;
  return worker.state() == "lost" ? Style::kBad : Style::kWarn;
}

PaneRow WorkerRow(const v1::WorkerSummary& worker) {
  const std::string name = Printable(worker.worker());
  const std::string doing = Printable(worker.doing());
  const std::string mark = Printable(worker.mark());
  PaneRow row;
  row.cells = {{name, Style::kBold},
               {Printable(worker.state()), StyleOfWorker(worker)},
               {!doing.empty() ? doing
                : mark.empty() ? kNone
                               : mark},
               {FormatShort(std::floor(worker.silence_seconds())),
                Connected(worker) ? Style::kPlain : Style::kBad},
               {Printable(worker.device())},
               {Printable(worker.device_name()), Style::kDim},
               {Printable(worker.host()), Style::kDim}};
  row.keys = {{0, name},
              {0, worker.state()},
              {doing.empty() ? 1.0 : 0, doing},
              {worker.silence_seconds(), ""}};
  row.found_in = absl::StrJoin({name, std::string(worker.state()), doing, Printable(worker.host()),
                                Printable(worker.device_name()), mark},
                               " ");
  return row;
}

std::vector<PaneRow> RowsOf(Pane pane, const TopState& state, int width, Glyphs glyphs) {
  std::vector<PaneRow> rows;
  switch (pane) {
    case Pane::kExperiments:
      for (const v1::ExperimentSummary& one : state.experiments) {
        if (!Ended(one.state())) rows.push_back(ExperimentRow(one, width, glyphs));
      }
      break;
    case Pane::kTrials:
      for (const v1::TrialSummary& one : state.live) rows.push_back(TrialRow(one, width, glyphs));
      break;
    case Pane::kWorkers:
      for (const v1::WorkerSummary& one : state.workers) rows.push_back(WorkerRow(one));
      break;
  }
  return rows;
}

bool Contains(std::string_view text, std::string_view part) {
  return absl::StrContains(absl::AsciiStrToLower(std::string(text)),
                           absl::AsciiStrToLower(std::string(part)));
}

// Compares two rows. Unknown values come last, in both directions.
bool Before(const SortKey& a, const SortKey& b, bool reversed) {
  if (std::isnan(a.number) != std::isnan(b.number)) return std::isnan(b.number);
  if (std::isnan(a.number)) return false;
  const auto pair = [](const SortKey& key) { return std::make_pair(key.number, key.text); };
  return reversed ? pair(b) < pair(a) : pair(a) < pair(b);
}

// Replaces numbers: "backs off 3 s before attempt 2" → "backs off # s before attempt #".
std::string WithoutNumbers(const std::string& reason) {
  std::string text;
  for (const char c : reason) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(c))) {
      text += c;
    } else if (text.empty() || text.back() != '#') {
      text += '#';
    }
  }
  return text;
}

}  // namespace

bool Connected(const v1::WorkerSummary& worker) { return worker.state() != "lost"; }

bool Used(const v1::WorkerSummary& worker) {
  return worker.state() == "busy" || (worker.state() == "draining" && !worker.doing().empty());
}

size_t SortableColumns(Pane pane) {
  const std::vector<PaneColumn>& columns = ColumnsOf(pane);
  return static_cast<size_t>(std::count_if(
      columns.begin(), columns.end(), [](const auto& one) { return one.sorted == Sorted::kYes; }));
}

PaneTable MakePane(Pane pane, const TopState& state, const TopView& view, int width,
                   Glyphs glyphs) {
  const PaneView& of = view.Of(pane);
  PaneTable made;
  size_t sortable = 0;
  for (const PaneColumn& one : ColumnsOf(pane)) {
    made.table.columns.push_back(one.column);
    if (one.sorted == Sorted::kYes && sortable++ == of.sort) made.sorted = one.column.header;
  }
  std::vector<PaneRow> rows = RowsOf(pane, state, width, glyphs);
  made.in_all = rows.size();
  std::erase_if(rows, [&](const PaneRow& row) { return !Contains(row.found_in, view.filter); });
  std::stable_sort(rows.begin(), rows.end(), [&of](const PaneRow& a, const PaneRow& b) {
    return Before(a.keys[of.sort], b.keys[of.sort], of.reversed);
  });
  for (PaneRow& row : rows) made.table.rows.push_back(std::move(row.cells));
  return made;
}

std::vector<WaitingGroup> GroupWaiting(const TopState& state, std::string_view filter) {
  std::map<std::string, size_t> places;
  std::vector<WaitingGroup> groups;
  for (const v1::TrialSummary& trial : state.waiting) {
    const std::string reason = Printable(trial.waiting());
    if (!Contains(absl::StrCat(TrialName(trial), " ", reason), filter)) continue;
    const auto [place, is_new] = places.try_emplace(WithoutNumbers(reason), groups.size());
    if (is_new) groups.push_back({0, TrialName(trial), reason});
    ++groups[place->second].trials;
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return a.trials > b.trials; });
  return groups;
}

uint64_t WaitingNotListed(const TopState& state) {
  const uint64_t pending = std::accumulate(
      state.experiments.begin(), state.experiments.end(), uint64_t{0},
      [](uint64_t sum, const v1::ExperimentSummary& one) { return sum + one.pending(); });
  // The two lists were fetched one after the other; a trial may have started in between.
  return pending - std::min<uint64_t>(pending, state.waiting.size());
}

}  // namespace dt::cli
