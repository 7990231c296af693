// inherited.h: facts that each process that dtprogram starts inherits from it, and that another
// process can change.
//
// Role:   shows whether a program changed its runner: limits, cores, priorities, its place in the
//         kernel's choice of processes to kill, its control group. A runner that was changed serves
//         no further trial, since that trial's program would inherit it. The folder, the umask, the
//         signals and the descriptors of a process can be changed by itself alone.
// Threads: any.
// Errors: none: a fact that cannot be read is empty each time.
// Tests:  tests/worker/program/runner_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dt::program {

struct Inherited {
  std::vector<uint64_t> limits;  // soft and hard ones, by their numbers
  std::vector<int> cores;
  int nice = 0, policy = 0, io_priority = 0;
  std::string oom_score, dumped;  // as in /proc
  std::string control_groups;

  bool operator==(const Inherited&) const = default;
};

Inherited ReadInherited();

}  // namespace dt::program
