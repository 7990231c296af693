#include "cli/view/terminal.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

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
  if (drawn_ > 0) *terminal_.out << "\x1b[?25h" << std::flush;
}

void Redrawer::Draw(const std::vector<Line>& lines) {
  const TerminalSize size = terminal_.size();
  // One write, so that a frame never shows half drawn; the cursor is hidden meanwhile.
  std::string frame = "\x1b[?25l";
  if (drawn_ > 0) absl::StrAppend(&frame, "\x1b[", drawn_, "F");
  // A block higher than the screen could not be reached again with the cursor.
  const int count = std::min(static_cast<int>(lines.size()), std::max(1, size.rows - 1));
  for (int i = 0; i < count; ++i) {
    absl::StrAppend(&frame, RenderLine(lines[i], colour_, size.columns), "\x1b[K\n");
  }
  frame += "\x1b[J";
  *terminal_.out << frame << std::flush;
  drawn_ = count;
}

}  // namespace dt::cli
