// keeper.h: the process around a program that makes the program's own files checkpoints
// (checkpoint.folder; `python3 -m dtrain keep` in a command does the same).
//
// Role:    python/dtrain/trial.py watches, copies and restores the files. This starts it, and
//          knows how it treats signals.
// Threads: one, as descendants.h.
// Errors:  ConfigError without python3.
// Tests:   tests/worker/program/keeper_test.cc, with real processes
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/spawn.h"

namespace dt::program {

// Returns the file that runs a keeper: python3, from the environment's PATH.
absl::StatusOr<std::string> FindKeeper(const Environment& environment);
// Returns the words that run the program below a keeper of `pattern`.
std::vector<std::string> KeptWords(const std::string& pattern, std::vector<std::string> words);

// Sends SIGTERM once to each of these processes, or to each below this one. A keeper passes it on,
// so the program that it started gets it from the keeper.
void AskToEndOnce(const std::vector<pid_t>& processes);
void AskAllToEnd();

}  // namespace dt::program
