#include "cli/view/terminal.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/view/words.h"

namespace dt::cli {

Colour Terminal::ColourAllowed() const {
  const bool refused = !environment("NO_COLOR").empty() || environment("TERM") == "dumb";
  return refused ? Colour::kOff : Colour::kOn;
}

bool Terminal::Unicode() const {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string value = absl::AsciiStrToLower(environment(name));
    if (!value.empty())
      return absl::StrContains(value, "utf-8") || absl::StrContains(value, "utf8");
  }
  return false;
}

Redrawer::~Redrawer() {
  if (!drawn_.empty()) *terminal_.out << "\x1b[?25h" << std::flush;
}

void Redrawer::Draw(const std::vector<Line>& lines) {
  const TerminalSize size = terminal_.size();
  // A single write, so that no frame shows half drawn. The cursor is hidden meanwhile.
  std::string frame = "\x1b[?25l";
  // A terminal that became narrower wrapped the lines of the last frame.
  int rows = 0;
  for (const int width : drawn_) {
    rows += 1 + (width > 0 ? (width - 1) / std::max(1, size.columns) : 0);
  }
  rows = std::min(rows, std::max(1, size.rows - 1));
  if (rows > 0) absl::StrAppend(&frame, "\x1b[", rows, "F");
  drawn_.clear();
  // The cursor could not go back to the top of a block higher than the screen.
  const int count = std::min(static_cast<int>(lines.size()), std::max(1, size.rows - 1));
  for (int i = 0; i < count; ++i) {
    absl::StrAppend(&frame, RenderLine(lines[i], colour_, size.columns), "\x1b[K\n");
    drawn_.push_back(DisplayWidth(RenderLine(lines[i], Colour::kOff, size.columns)));
  }
  frame += "\x1b[J";
  *terminal_.out << frame << std::flush;
}

}  // namespace dt::cli
