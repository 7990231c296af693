// unsaved.h: the steps that a stop would lose, and the question before it.
//
// Without a terminal there is no question: the loss is a line on stderr, and the command continues,
// as scripts expect.
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

// Kind of stop. dtrain's own trainers save when they are asked to. A program does if it has saved
// before.
enum class StopKind { kSaves, kKills };
enum class Confirmation { kAsks, kYes };

// Steps of running trials since their newest checkpoints.
struct UnsavedSteps {
  uint64_t trials = 0;
  uint64_t steps = 0;  // 0: their programs report no steps
};
UnsavedSteps UnsavedOf(const std::vector<v1::TrialSummary>& running, bool program, StopKind stop);
// Returns "2 running trials would lose 1,240 steps, which no checkpoint has"; "" if nothing would
// be lost.
std::string UnsavedText(const UnsavedSteps& unsaved);

// Asks, or prints the loss, before trials of the experiment, or the given trial, are stopped.
// Errors: those of Session::Confirm if the answer is no.
absl::Status AskAboutUnsaved(Session& session, Client& client, const Selector& selector,
                             StopKind stop, Confirmation asking);
// Does the same for all trials of the coordinator.
absl::Status AskAboutAllUnsaved(Session& session, Client& client, Confirmation asking);

}  // namespace dt::cli
