// ending.h: the meaning of a program's end for its trial.
//
// Role:  pure.
// Tests: tests/worker/program/environment_test.cc
#pragma once

#include <optional>
#include <string>

#include "worker/environments/container.h"

namespace dt::program {

// The agent's current demand on the attempt.
enum class StopRequest {
  kNone,
  kSave,  // SIGTERM; it has time to save, and ends by itself
  kLeave  // SIGTERM, then SIGKILL
};
// Whether the kernel killed processes in this memory group since the program began.
enum class Oom { kNone, kKilledSome };

struct Ending {
  std::string cause;  // as in frames::End
  std::string message;
};
// `wait_status` as from waitpid. A shell reports with status 137 that SIGKILL ended its child.
Ending EndingOf(int wait_status, StopRequest stop_request, Oom oom);

// Returns whether a status may come from the runtime of containers instead of the program: 125, 126
// and 127, or 137, which does not tell a lack of memory.
bool IsUnclear(int wait_status);
// Returns the ending of a program whose container was never started. Nothing: it was started, or
// the status is the program's. `workdir`: as the experiment has it.
std::optional<Ending> UnstartedEnding(int wait_status, const environments::ContainerEnd& end,
                                      const std::string& runtime, const std::string& workdir);

}  // namespace dt::program
