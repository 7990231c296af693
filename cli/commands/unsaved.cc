// unsaved.cc: see unsaved.h.
#include "cli/commands/unsaved.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "cli/commands/command_tree.h"
#include "cli/view/words.h"
#include "common/status.h"

namespace dt::cli {
namespace {

// Returns the unsaved steps; none if the coordinator does not answer, which must not prevent a
// stop.
UnsavedSteps UnsavedIn(Client& client, const Selector& selector, StopKind stop) {
  const auto found = client.GetExperiment(Select<v1::GetExperimentRequest>(selector));
  if (!found.ok()) return {};
  auto request = Select<v1::ListTrialsRequest>(selector);
  request.add_states(v1::TRIAL_RUNNING);
  const auto trials = client.ListTrials(request);
  return trials.ok() ? UnsavedOf(*trials, found->summary().program(), stop) : UnsavedSteps{};
}

absl::Status Ask(Session& session, const UnsavedSteps& unsaved, Confirmation asking) {
  const std::string text = UnsavedText(unsaved);
  if (text.empty() || asking == Confirmation::kYes) return absl::OkStatus();
  if (!session.terminal().in_is_tty || session.options().no_input) {
    session.Note(absl::StrCat(text, "."));
    return absl::OkStatus();
  }
  return session.Confirm(absl::StrCat(text, ". Go on?"));
}

}  // namespace

UnsavedSteps UnsavedOf(const std::vector<v1::TrialSummary>& running, bool program, StopKind stop) {
  UnsavedSteps unsaved;
  for (const v1::TrialSummary& trial : running) {
    const bool saved = trial.has_last_checkpoint();
    if (stop == StopKind::kSaves && (!program || saved)) continue;
    const uint64_t from = saved ? trial.last_checkpoint().step() : 0;
    const uint64_t steps = trial.step() - std::min(trial.step(), from);
    // A program that reports no steps has still done some work.
    if (steps == 0 && !(program && !saved)) continue;
    ++unsaved.trials;
    unsaved.steps += steps;
  }
  return unsaved;
}

std::string UnsavedText(const UnsavedSteps& unsaved) {
  if (unsaved.trials == 0) return {};
  const std::string trials = Plural(unsaved.trials, "running trial");
  if (unsaved.steps == 0) {
    return absl::StrCat(trials, unsaved.trials == 1 ? " has" : " have",
                        " saved nothing, and would begin anew");
  }
  return absl::StrCat(trials, " would lose ", Plural(unsaved.steps, "step"),
                      ", which no checkpoint has");
}

absl::Status AskAboutUnsaved(Session& session, Client& client, const Selector& selector,
                             StopKind stop, Confirmation asking) {
  if (asking == Confirmation::kYes) return absl::OkStatus();
  return Ask(session, UnsavedIn(client, selector, stop), asking);
}

absl::Status AskAboutAllUnsaved(Session& session, Client& client, Confirmation asking) {
  if (asking == Confirmation::kYes) return absl::OkStatus();
  const auto experiments = client.ListExperiments({});
  if (!experiments.ok()) return absl::OkStatus();
  UnsavedSteps all;
  for (const v1::ExperimentSummary& one : *experiments) {
    if (one.running() == 0) continue;
    Selector selector;
    selector.experiment = one.experiment();
    const UnsavedSteps unsaved = UnsavedIn(client, selector, StopKind::kSaves);
    all.trials += unsaved.trials;
    all.steps += unsaved.steps;
  }
  return Ask(session, all, asking);
}

}  // namespace dt::cli
