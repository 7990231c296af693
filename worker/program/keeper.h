// keeper.h: the process around a program that makes the program's own files checkpoints:
// `python3 -m dtrain keep` in a command.
//
// Role:    python/dtrain/trial.py watches, copies and restores the files. This knows how it treats
//          signals.
// Threads: one, as descendants.h.
// Tests:   tests/worker/program/keeper_test.cc, with real processes
#pragma once

namespace dt::program {

// Sends SIGTERM once to each process below this one. A keeper passes it on, so the program that it
// started gets it from the keeper.
void AskAllToEnd();

}  // namespace dt::program
