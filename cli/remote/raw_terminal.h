// raw_terminal.h: a terminal that gives every key at once and shows a screen of its own, until it
// is given back as it was.
//
// Ownership: borrows the descriptors. One at a time in a process: signal handlers need to know it.
// Threads:   one thread. A signal may come on any.
// Errors:    none; a terminal that cannot be set stays as it is.
// Invariant: however the process ends, short of SIGKILL, the terminal is as it was before: by the
//            destructor, or by the handlers of signals that end a process, which then ends by the
//            signal as it would have. After SIGKILL or SIGSTOP nobody can; on SIGCONT the screen is
//            taken again.
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

  // Whether the screen is to be drawn anew: the process was stopped since the last call. Where it
  // was asked to stop (SIGTSTP), this call gives the terminal back, stops, and takes it again
  // afterwards.
  bool Continued();
  // As if Ctrl-Z were pressed, which is a key like any other here.
  void Suspend();

  // What was typed, up to a few hundred bytes; "" at the end of input. REQUIRES: it is readable.
  std::string Read() const;
};

}  // namespace dt::cli
