// attempt_environment.cc: the environment of an attempt's program: made first, and then used.
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/descendants.h"
#include "common/limits.h"
#include "worker/program/attempt.h"

namespace dt::program {

void ProgramAttempt::BeginEnvironment(Instant now) {
  environments::Wanted wanted = spec_.own.wanted;
  wanted.code_folder = start_.code_folder;
  maker_.emplace(start_.token, std::move(wanted), host_.environments,
                 host_.scratch + ".environment",
                 PermittedToTools(EnvironmentWith({}), host_.variables), say_,
                 [this](const std::string& text) { Log(text); });
  const absl::Status begun = maker_->Begin(start_.environment, IsRoot(), now.steady);
  if (!begun.ok()) FailEnvironment(begun);
}

void ProgramAttempt::TakeEnvironment(const frames::Environment& frame, Instant now) {
  if (stage_ != Stage::kMaking) return;
  const absl::Status taken = maker_->TakeLock(frame.lock, now.steady);
  if (!taken.ok()) FailEnvironment(taken);
}

void ProgramAttempt::ServeEnvironment(Instant now) {
  const std::optional<absl::Status> made = maker_->Serve(now.steady);
  if (!made.has_value()) return;
  if (!made->ok()) {
    EndDescendants(limits::kTrainerExitGrace);
    return FailEnvironment(*made);
  }
  stage_ = Stage::kWaiting;
  GoOn(now);
}

void ProgramAttempt::FailEnvironment(const absl::Status& error) {
  of_experiment_ = error.code() == kConfigError;
  Fail(error);
}

// Returns the variables that the program inherits from the worker, those of its environment first.
absl::StatusOr<Environment> ProgramAttempt::Inherited() const {
  Environment inherited = Permitted(EnvironmentWith({}), host_.variables);
  if (maker_) return Activated(std::move(inherited), maker_->folder());
  const std::string& python = spec_.own.wanted.python;
  if (python.empty()) return inherited;
  DT_ASSIGN_OR_RETURN(const std::string folder, FolderOfPython(python));
  return Activated(std::move(inherited), folder);
}

}  // namespace dt::program
