// stacks.h: the state and stack of each process of a program that hangs, for its log.
//
// Role:    a person reads it: each process and thread with its state and the call of the kernel
//          that it waits in. The stack of Python comes from py-spy, that of other code from gdb,
//          where they are on the program's PATH and the system lets them look. Without py-spy,
//          Python itself prints its stack.
// Threads: one that waits for no other child meanwhile.
// Bounds:  kStackProcesses processes, kStackLines lines, `patience` for the tools, and a second
//          for Python's own print.
// Source:  proc(5); py-spy's `dump`; gdb's `thread apply all backtrace`; Python's faulthandler.
// Tests:   tests/worker/program/stacks_test.cc
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/limits.h"
#include "common/spawn.h"

namespace dt::program {

inline constexpr size_t kStackProcesses = 8;
inline constexpr size_t kStackLines = 120;

// Returns a line a process, a thread and a frame. `environment`: the program's, for its PATH. A
// Python process whose stack no tool could read is sent SIGABRT, if it handles that signal: its
// faulthandler prints the stack to standard error, and the process ends. Call it only for processes
// that are about to be ended.
std::vector<std::string> StacksOf(const std::vector<pid_t>& processes,
                                  const Environment& environment,
                                  absl::Duration patience = limits::kStacksPatience);

}  // namespace dt::program
