// top_panes.h: the lists of `dtctl top`: experiments, running trials, workers, reasons of waits.
//
// Role:  pure: summaries in, sorted and filtered rows out. top_view.cc lays them out on a screen.
// Units: time in seconds.
// Tests: tests/cli/view/top_view_test.cc
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/view/glyphs.h"
#include "cli/view/table.h"
#include "cli/view/words.h"
#include "dtrain/v1/control.pb.h"

namespace dt::cli {

struct TopState {
  std::string address;
  std::string program_version;                     // of the coordinator; "" before its first answer
  std::vector<v1::ExperimentSummary> experiments;  // all of them
  std::vector<v1::TrialSummary> live;              // starting, running and stopping
  std::vector<v1::TrialSummary> waiting;           // the first few of each experiment
  std::vector<v1::WorkerSummary> workers;
  std::string notice;  // "no answer from the coordinator for 12 s", or ""
};

enum class Pane { kExperiments, kTrials, kWorkers };
inline constexpr std::array kPanes = {Pane::kExperiments, Pane::kTrials, Pane::kWorkers};

// State of a pane that keys change. `sort` is an index of its sortable columns.
struct PaneView {
  bool shown = true;
  size_t sort = 0;
  bool reversed = false;
  size_t scroll = 0;  // rows above the first that is shown
};

// State of the view that keys change.
struct TopView {
  std::array<PaneView, kPanes.size()> panes;
  Pane focus = Pane::kTrials;  // the pane that keys sort and scroll
  std::string filter;
  bool typing_filter = false;
  bool paused = false;
  bool help = false;

  PaneView& Of(Pane pane) { return panes[static_cast<size_t>(pane)]; }
  const PaneView& Of(Pane pane) const { return panes[static_cast<size_t>(pane)]; }
};

struct PaneTable {
  Table table;         // sorted and filtered
  size_t in_all = 0;   // rows before the filter
  std::string sorted;  // header of the column of the order
};
PaneTable MakePane(Pane pane, const TopState& state, const TopView& view, int width, Glyphs glyphs);
// Returns the number of columns that a pane can be sorted by.
size_t SortableColumns(Pane pane);

// Trials that wait for the same reason. Reasons that differ only in numbers count as the same.
struct WaitingGroup {
  uint64_t trials = 0;
  std::string first;   // the first trial: "12/3"
  std::string reason;  // of the first
};
std::vector<WaitingGroup> GroupWaiting(const TopState& state, std::string_view filter);
// Returns the number of waiting trials that state.waiting does not have.
uint64_t WaitingNotListed(const TopState& state);

bool Used(const v1::WorkerSummary& worker);
bool Connected(const v1::WorkerSummary& worker);

}  // namespace dt::cli
