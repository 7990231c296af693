// stacks.h: the state and stack of each process of a program that hangs, for its log.
//
// Role:    a person reads it: each process and thread with its state and the call of the kernel
//          that it waits in; of Python its stack too, where py-spy is on the program's PATH and the
//          system lets it look.
// Threads: one that waits for no other child meanwhile.
// Bounds:  kStackProcesses processes, kStackLines lines, kPySpyPatience for each Python process.
// Source:  proc(5); py-spy's `dump`.
// Tests:   tests/worker/program/stacks_test.cc
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/spawn.h"

namespace dt::program {

inline constexpr size_t kStackProcesses = 8;
inline constexpr size_t kStackLines = 80;
inline constexpr absl::Duration kPySpyPatience = absl::Seconds(3);

// Returns a line a process, a thread and a frame. `environment`: the program's, for its PATH.
std::vector<std::string> StacksOf(const std::vector<pid_t>& processes,
                                  const Environment& environment);

}  // namespace dt::program
