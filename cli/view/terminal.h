// terminal.h: the program's surroundings as values: streams, whether a person watches, width,
// environment. main.cc fills it from the operating system, tests from strings.
#pragma once

#include <functional>
#include <istream>
#include <ostream>
#include <string>
#include <vector>

#include "cli/view/table.h"

namespace dt::cli {

struct TerminalSize {
  int columns = 80;
  int rows = 24;
};

struct Terminal {
  std::ostream* out = nullptr;  // data
  std::ostream* err = nullptr;  // messages
  std::istream* in = nullptr;
  int in_fd = -1;   // of `in`, to wait for what a person types; -1: it does not block
  int out_fd = -1;  // of `out`, -1 where it is no descriptor
  // errno of the write to `out` that failed, 0 where none did or nobody knows.
  std::function<int()> out_error = [] { return 0; };
  bool out_is_tty = false;
  bool err_is_tty = false;
  bool in_is_tty = false;
  // "" when unset.
  std::function<std::string(const std::string&)> environment = [](const std::string&) {
    return std::string();
  };
  std::string programs;  // the folder that this program is in, with its siblings
  std::function<TerminalSize()> size = [] { return TerminalSize(); };

  // TERM=dumb cannot move its cursor.
  bool CanRedraw() const { return out_is_tty && environment("TERM") != "dumb"; }
  // Block characters need UTF-8.
  bool Unicode() const;
  Colour ColourOfOut() const { return out_is_tty ? ColourAllowed() : Colour::kOff; }
  Colour ColourOfErr() const { return err_is_tty ? ColourAllowed() : Colour::kOff; }

 private:
  Colour ColourAllowed() const;
};

// Keeps one block of lines on the screen and replaces it in place.
class Redrawer {
 public:
  // Borrows `terminal`. REQUIRES: terminal.CanRedraw().
  Redrawer(const Terminal& terminal, Colour colour) : terminal_(terminal), colour_(colour) {}
  ~Redrawer();  // shows the cursor again
  Redrawer(const Redrawer&) = delete;
  Redrawer& operator=(const Redrawer&) = delete;

  void Draw(const std::vector<Line>& lines);

 private:
  const Terminal& terminal_;
  const Colour colour_;
  std::vector<int> drawn_;  // the widths of the lines of the block on the screen now
};

}  // namespace dt::cli
