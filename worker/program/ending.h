// ending.h: what the end of a program means for its trial.
//
// Role:  pure.
// Tests: tests/worker/program/environment_test.cc
#pragma once

#include <string>

namespace dt::program {

// What the agent wants of the attempt.
enum class Wish {
  kGoOn,
  kSave,  // SIGTERM; it has the time to save, and ends by itself
  kLeave  // SIGTERM, then SIGKILL
};
enum class Oom { kNone, kKilledSome };  // the kernel, in this memory group, since the program began

struct Ending {
  std::string cause;  // as frames::End has it
  std::string message;
};
// `wait_status` as from waitpid. A shell says by status 137 that SIGKILL ended what it ran.
Ending EndingOf(int wait_status, Wish wish, Oom oom);

}  // namespace dt::program
