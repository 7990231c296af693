// terminal.h: the program's environment as values: streams, whether they are terminals, width,
// variables. main.cc fills it from the operating system, tests from strings.
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
  int in_fd = -1;   // of `in`, to wait for input; -1: `in` does not block
  int out_fd = -1;  // of `out`; -1: `out` has no descriptor
  // Returns the errno of the failed write to `out`; 0 if none failed, or if unknown.
  std::function<int()> out_error = [] { return 0; };
  bool out_is_tty = false;
  bool err_is_tty = false;
  bool in_is_tty = false;
  // Returns a variable, "" if unset.
  std::function<std::string(const std::string&)> environment = [](const std::string&) {
    return std::string();
  };
  std::string programs;  // the folder of this program and its siblings
  std::function<TerminalSize()> size = [] { return TerminalSize(); };

  // Returns whether lines can be replaced. TERM=dumb cannot move its cursor.
  bool CanRedraw() const { return out_is_tty && environment("TERM") != "dumb"; }
  // Returns whether the locale is UTF-8, which block characters need.
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
  std::vector<int> drawn_;  // widths of the lines on the screen
};

}  // namespace dt::cli
