#include "cli/view/top_view.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/view/glyphs.h"
#include "cli/view/json.h"
#include "cli/view/table.h"
#include "cli/view/words.h"
#include "common/text.h"

namespace dt::cli {
namespace {

// Part of the screen with a title: a rule, the header of a table if there is one, and rows.
struct Section {
  std::string title;
  Style title_style = Style::kPlain;
  std::vector<Line> header;
  std::vector<Line> rows;
  size_t scroll = 0;
  size_t room = 0;  // rows that it gets
  // Rows that it gets in each round of sharing, and its turn to be dropped from a small screen, 1
  // first.
  size_t weight = 1;
  int leave_out = 0;
  std::optional<Pane> pane = {};  // the pane of the rows

  size_t Overhead() const { return 1 + header.size(); }
};

const char* Dot(Glyphs glyphs) { return glyphs == Glyphs::kUnicode ? " · " : " | "; }

Line Cut(const Line& line, const TopOptions& options) {
  Line cut;
  int left = options.width;
  for (const Span& span : line) {
    if (left <= 0) break;
    std::string text = Truncate(span.text, left);
    left -= DisplayWidth(text);
    cut.push_back({std::move(text), span.style});
  }
  if (options.glyphs == Glyphs::kAscii) {
    for (Span& span : cut) span.text = absl::StrReplaceAll(span.text, {{"…", "~"}});
  }
  return cut;
}

int WidthOf(const Line& line) {
  int width = 0;
  for (const Span& span : line) width += DisplayWidth(span.text);
  return width;
}

// Returns "6 busy, 1 idle", without states that no worker has.
std::string CountsText(const std::vector<std::pair<std::string, size_t>>& counts) {
  std::vector<std::string> parts;
  for (const auto& [word, count] : counts) {
    if (count > 0) parts.push_back(absl::StrCat(FormatCount(count), " ", word));
  }
  return parts.empty() ? "none" : absl::StrJoin(parts, ", ");
}

std::string WorkersText(const TopState& state) {
  std::vector<std::pair<std::string, size_t>> counts = {
      {"busy", 0}, {"idle", 0}, {"draining", 0}, {"lost", 0}};
  for (const v1::WorkerSummary& worker : state.workers) {
    for (auto& [word, count] : counts) count += worker.state() == word ? 1 : 0;
  }
  return CountsText(counts);
}

std::string TrialsText(const TopState& state) {
  std::vector<std::pair<std::string, size_t>> counts;
  for (const auto live : {v1::TRIAL_RUNNING, v1::TRIAL_STARTING, v1::TRIAL_STOPPING}) {
    counts.emplace_back(Word(live),
                        std::count_if(state.live.begin(), state.live.end(),
                                      [&](const auto& t) { return t.state() == live; }));
  }
  counts.emplace_back("waiting", state.waiting.size() + WaitingNotListed(state));
  return CountsText(counts);
}

std::string ExperimentsText(const TopState& state) {
  std::vector<std::pair<std::string, size_t>> counts = {
      {"running", 0}, {"queued", 0}, {"ended", 0}};
  for (const v1::ExperimentSummary& one : state.experiments) {
    const bool running = one.state() == v1::EXPERIMENT_RUNNING;
    ++counts[Ended(one.state()) ? 2 : running ? 0 : 1].second;
  }
  return CountsText(counts);
}

std::vector<Line> Head(const TopState& state, const TopView& view, const TopOptions& options) {
  const char* dot = Dot(options.glyphs);
  Line first = {{"dtrain", Style::kBold}};
  if (!state.program_version.empty()) {
    first.push_back({" " + Printable(state.program_version), Style::kBold});
  }
  first.push_back({" at " + Printable(state.address)});
  Line right = {{options.clock, Style::kDim}};
  if (view.paused) right.insert(right.begin(), {"paused ", Style::kWarn});
  const int gap = options.width - WidthOf(first) - WidthOf(right);
  first.push_back({std::string(static_cast<size_t>(std::max(1, gap)), ' ')});
  first.insert(first.end(), right.begin(), right.end());

  const auto connected = std::count_if(state.workers.begin(), state.workers.end(), Connected);
  const auto used = std::count_if(state.workers.begin(), state.workers.end(), Used);
  const double ratio = connected == 0 ? 0 : static_cast<double>(used) / connected;
  double rate = 0;
  for (const v1::TrialSummary& trial : state.live) {
    if (trial.state() == v1::TRIAL_RUNNING) rate += trial.tokens_per_second();
  }
  const int bar = options.width >= 110 ? 24 : 12;
  const Line second = {{"slots ", Style::kDim},
                       {Bar(ratio, bar, options.glyphs), Style::kBusy},
                       {absl::StrCat(" ", used, " of ", connected, dot)},
                       {"workers ", Style::kDim},
                       {WorkersText(state)},
                       {dot},
                       {FormatRate(rate), Style::kBold},
                       {" tokens/s", Style::kDim}};
  const Line third = {{"trials ", Style::kDim},
                      {TrialsText(state)},
                      {dot},
                      {"experiments ", Style::kDim},
                      {ExperimentsText(state)}};
  return {first, second, third};
}

std::string_view TitleOf(Pane pane) {
  switch (pane) {
    case Pane::kExperiments:
      return "experiments";
    case Pane::kTrials:
      return "running trials";
    case Pane::kWorkers:
      return "workers";
  }
  return "";
}

Section PaneSection(Pane pane, const TopState& state, const TopView& view,
                    const TopOptions& options, PaneRoom& room) {
  const PaneView& of = view.Of(pane);
  const PaneTable made = MakePane(pane, state, view, options.width, options.glyphs);
  room.in_all = made.table.rows.size();
  Section section;
  const bool unicode = options.glyphs == Glyphs::kUnicode;
  const char* arrow = of.reversed ? (unicode ? "↓" : "down") : (unicode ? "↑" : "up");
  section.title = std::string(TitleOf(pane));
  if (made.in_all != room.in_all) {
    absl::StrAppend(&section.title, ", ", room.in_all, " of ", made.in_all, " with '",
                    Printable(view.filter), "'");
  }
  if (room.in_all > 1) absl::StrAppend(&section.title, ", by ", made.sorted, " ", arrow);
  section.title_style = view.focus == pane ? Style::kBold : Style::kPlain;
  section.rows = LayOut(made.table, {options.width});
  if (made.table.rows.empty()) {
    section.rows = {{{made.in_all > 0 ? "none with this text" : "none", Style::kDim}}};
  } else {
    section.header = {section.rows.front()};
    section.rows.erase(section.rows.begin());
  }
  section.scroll = of.scroll;
  section.weight = pane == Pane::kTrials ? 2 : 1;
  section.leave_out = pane == Pane::kTrials ? 4 : pane == Pane::kWorkers ? 3 : 1;
  section.pane = pane;
  return section;
}

Section WaitingSection(const TopState& state, const TopView& view) {
  Section section;
  for (const WaitingGroup& group : GroupWaiting(state, view.filter)) {
    section.rows.push_back({{PadLeft(FormatCount(group.trials), 6), Style::kBold},
                            {group.trials == 1 ? "  " : "  from "},
                            {group.first, Style::kBold},
                            {"  " + group.reason}});
  }
  const uint64_t others = WaitingNotListed(state);
  if (others > 0 && view.filter.empty()) {
    section.rows.push_back({{PadLeft(FormatCount(others), 6), Style::kBold},
                            {"  further behind; 'dtctl explain' says why of each", Style::kDim}});
  }
  section.title = "waiting trials, by reason";
  section.leave_out = 2;
  return section;
}

std::vector<Section> Sections(const TopState& state, const TopView& view, const TopOptions& options,
                              TopFrame& frame) {
  std::vector<Section> sections;
  const auto add = [&](Pane pane) {
    if (!view.Of(pane).shown) return;
    PaneRoom& room = frame.rooms[static_cast<size_t>(pane)];
    sections.push_back(PaneSection(pane, state, view, options, room));
  };
  add(Pane::kExperiments);
  add(Pane::kTrials);
  if (view.Of(Pane::kTrials).shown) {
    Section waiting = WaitingSection(state, view);
    if (!waiting.rows.empty()) sections.push_back(std::move(waiting));
  }
  add(Pane::kWorkers);
  return sections;
}

// Gives each section its rows of `lines`. Drops sections without room for a row.
void ShareOut(size_t lines, std::vector<Section>& sections) {
  const auto least = [&sections] {
    size_t sum = 0;
    for (const Section& section : sections) sum += section.Overhead() + 1;
    return sum;
  };
  while (!sections.empty() && least() > lines) {
    sections.erase(std::min_element(sections.begin(), sections.end(),
                                    [](auto& a, auto& b) { return a.leave_out < b.leave_out; }));
  }
  size_t left = lines - least();
  for (Section& section : sections) section.room = 1;
  for (bool given = true; given && left > 0;) {
    given = false;
    for (Section& section : sections) {
      const size_t more = std::min({section.weight, left, section.rows.size() - section.room});
      section.room += more;
      left -= more;
      given = given || more > 0;
    }
  }
}

void AddSection(Section& section, const TopOptions& options, std::vector<Line>& lines) {
  const size_t count = section.rows.size();
  const size_t scroll = std::min(section.scroll, count - section.room);
  std::string title = section.title;
  if (section.room < count) {
    absl::StrAppend(&title, ", ", scroll + 1, "-", scroll + section.room, " of ", count);
  }
  const char* rule = options.glyphs == Glyphs::kUnicode ? "─" : "-";
  std::string tail = " ";
  for (int i = DisplayWidth(title) + 4; i < options.width; ++i) tail += rule;
  lines.push_back({{absl::StrCat(rule, rule, " "), Style::kDim},
                   {title, section.title_style},
                   {tail, Style::kDim}});
  for (Line& line : section.header) lines.push_back(std::move(line));
  for (size_t i = scroll; i < scroll + section.room; ++i) {
    lines.push_back(std::move(section.rows[i]));
  }
}

std::vector<Line> HelpLines() {
  static constexpr std::array kKeys = {
      std::pair{"q, Ctrl-C", "quit"},
      std::pair{"s", "sort the pane in bold by its next column"},
      std::pair{"r", "reverse its order"},
      std::pair{"Tab", "choose the next pane"},
      std::pair{"up, down, PgUp, PgDn, Home, End", "scroll it"},
      std::pair{"f, /", "show only what has a text; Enter keeps it, Esc clears it"},
      std::pair{"e, t, w", "show or hide experiments, trials, workers"},
      std::pair{"p", "pause: keep these numbers until the next p"},
      std::pair{"Ctrl-L", "draw the screen again"},
      std::pair{"?", "this help, and back"}};
  std::vector<Line> lines = {{{"Keys", Style::kBold}}};
  for (const auto& [key, what] : kKeys) {
    lines.push_back({{PadRight(absl::StrCat("  ", key), 36), Style::kBold}, {what}});
  }
  lines.emplace_back();
  lines.push_back(
      {{"COMM SHARE is the share of a step in which ranks send to one another, over the trial so "
        "far."}});
  lines.push_back(
      {{"SLOWEST RANK: its number, and how much longer it computed than the fastest."}});
  lines.push_back({{"LAST SEEN is the time since a worker last reported."}});
  return lines;
}

Line Foot(const TopView& view, const TopOptions& options) {
  if (view.typing_filter) {
    return {{"filter: ", Style::kBold},
            {Printable(view.filter)},
            {options.glyphs == Glyphs::kUnicode ? "▏" : "_"},
            {"   Enter keeps it, Esc clears it", Style::kDim}};
  }
  Line line;
  const auto key = [&line](const char* name, const char* what) {
    line.push_back({name, Style::kBold});
    line.push_back({what, Style::kDim});
  };
  key("q", " quit  ");
  key("s", " sort  ");
  key("r", " reverse  ");
  key("f", " filter  ");
  key("Tab", " next pane  ");
  key("e/t/w", " panes  ");
  key("p", view.paused ? " go on  " : " pause  ");
  key("?", " help");
  return line;
}

}  // namespace

TopFrame MakeTopFrame(const TopState& state, const TopView& view, const TopOptions& options) {
  TopFrame frame;
  std::vector<Line> lines = Head(state, view, options);
  if (!state.notice.empty()) lines.push_back({{Printable(state.notice), Style::kWarn}});
  const bool whole = options.rows == 0;
  const auto rows = static_cast<size_t>(std::max(0, options.rows));
  if (view.help) {
    for (Line& line : HelpLines()) lines.push_back(std::move(line));
  } else {
    std::vector<Section> sections = Sections(state, view, options, frame);
    const size_t taken = lines.size() + 1;
    ShareOut(whole ? SIZE_MAX / 2 : rows - std::min(rows, taken), sections);
    for (Section& section : sections) {
      if (section.pane.has_value()) {
        frame.rooms[static_cast<size_t>(*section.pane)].shown = section.room;
      }
      AddSection(section, options, lines);
    }
  }
  // A terminal without input shows no keys.
  if (!whole) {
    lines.resize(std::max<size_t>(rows, 1) - 1);
    lines.push_back(Foot(view, options));
  }
  for (const Line& line : lines) frame.lines.push_back(Cut(line, options));
  return frame;
}

}  // namespace dt::cli
