// raw_terminal.h: a terminal in raw mode with an alternate screen, restored afterwards.
//
// Ownership: borrows the descriptors. One at a time in a process, since signal handlers refer to
//            it.
// Threads:   one thread. A signal may come on any thread.
// Errors:    none; a terminal that cannot be set stays unchanged.
// Invariant: the terminal is restored however the process ends, except by SIGKILL: by the
//            destructor, or by the handlers of signals that end a process. The process then ends by
//            the same signal. SIGKILL and SIGSTOP allow no restoring. SIGCONT enters the screen
//            again.
// Tests:     tests/cli/commands/top_terminal_test.cc, at a pseudo-terminal
#pragma once

#include <string>

namespace dt::cli {

class RawTerminal {
 public:
  // REQUIRES: both are terminals.
  RawTerminal(int in_fd, int out_fd);
  ~RawTerminal();
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

  // Returns whether to redraw the screen: the process was stopped since the last call. If a stop
  // was requested (SIGTSTP), restores the terminal, stops, and enters the screen again afterwards.
  bool Continued();
  // Stops as Ctrl-Z usually does: in raw mode Ctrl-Z is a plain key.
  void Suspend();

  // Reads input, at most a few hundred bytes; "" at its end. REQUIRES: it is readable.
  std::string Read() const;
};

}  // namespace dt::cli
