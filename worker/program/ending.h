// ending.h: the meaning of a program's end for its trial.
//
// Role:  pure.
// Tests: tests/worker/program/environment_test.cc
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "worker/environments/container.h"
#include "worker/program/environment.h"

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

// Returns whether somebody may be removing the container of a program that has ended: a removal
// ends the program by a signal first, and the runtime still has the container for a moment.
// `wait_status`: of the runtime's client.
bool MayBeBeingRemoved(int wait_status, const environments::ContainerEnd& end);

// Returns the ending of an attempt whose container did not start, or was taken from its program:
// its monitor or the runtime's client died, or somebody removed it. Nothing: the program ended by
// itself. `workdir`: as the experiment has it.
std::optional<Ending> ContainerEnding(int wait_status, const environments::ContainerEnd& end,
                                      const std::string& runtime, const std::string& workdir);

// Returns the word whose program a container may lack, if it ended with this status: its first
// word, which its init then cannot start, or with status 127 the one that the shell of `run` looks
// up. "": that is not the reason. `words`: of the container.
std::string WordInDoubt(int wait_status, const ProgramSpec& spec,
                        const std::vector<std::string>& words);
// Returns the ending of a program that the image lacks.
Ending MissingEnding(const ProgramSpec& spec, const std::string& word, const std::string& path);
// Returns whether each trial of the experiment would look for the same word: no value of a
// parameter is within it.
bool IsOfEachTrial(const ProgramSpec& spec, const std::string& word);

}  // namespace dt::program
