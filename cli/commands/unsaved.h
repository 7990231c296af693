// unsaved.h: what a stop would throw away, and asking first.
//
// Nobody can be asked without a terminal: what is lost is a line on stderr, and the command goes
// on, as scripts expect.
//
// Tests: tests/cli/commands/unsaved_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/remote/client.h"
#include "cli/remote/session.h"
#include "dtrain/v1/control.pb.h"

namespace dt::cli {

// Trainers of dtrain's own save when they are asked to. A program does if it has saved before.
enum class StopKind { kSaves, kKills };
enum class Asking { kAsks, kYes };

// Steps behind the newest checkpoints of trials that run.
struct Unsaved {
  uint64_t trials = 0;
  uint64_t steps = 0;  // 0: their programs tell no steps
};
Unsaved UnsavedOf(const std::vector<v1::TrialSummary>& running, bool program, StopKind stop);
// "2 running trials would lose 1,240 steps, which no checkpoint has"; "": nothing would be lost.
std::string UnsavedText(const Unsaved& unsaved);

// Asks, or tells, before trials of the experiment, or the one trial, are stopped. Errors: those of
// Session::Confirm where the answer is no.
absl::Status AskAboutUnsaved(Session& session, Client& client, const Selector& selector,
                             StopKind stop, Asking asking);
// The same for all that the coordinator runs.
absl::Status AskAboutAllUnsaved(Session& session, Client& client, Asking asking);

}  // namespace dt::cli
