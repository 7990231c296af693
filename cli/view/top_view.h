// top_view.h: the screen of `dtctl top` as lines.
//
// Role:  pure: state, view and size in, lines out. cli/commands/top_command.cc fetches and draws.
// Tests: tests/cli/view/top_view_test.cc
#pragma once

#include <array>
#include <string>
#include <vector>

#include "cli/view/glyphs.h"
#include "cli/view/top_panes.h"

namespace dt::cli {

struct TopOptions {
  int width = 80;
  int rows = 24;  // of the terminal; 0: as many as needed
  Glyphs glyphs = Glyphs::kUnicode;
  std::string clock;  // the time of day, or ""
};

// Rows of a pane on the screen.
struct PaneRoom {
  size_t shown = 0;   // rows
  size_t in_all = 0;  // rows that pass the filter
};

struct TopFrame {
  // Exactly options.rows lines, none wider than options.width.
  std::vector<Line> lines;
  std::array<PaneRoom, kPanes.size()> rooms;

  const PaneRoom& Of(Pane pane) const { return rooms[static_cast<size_t>(pane)]; }
};
TopFrame MakeTopFrame(const TopState& state, const TopView& view, const TopOptions& options);

}  // namespace dt::cli
