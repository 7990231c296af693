// attempt_environment.cc: the environment of an attempt's program: made first, and then used.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/descendants.h"
#include "common/limits.h"
#include "common/sha256.h"
#include "worker/environments/image.h"
#include "worker/environments/noted_container.h"
#include "worker/program/attempt.h"
#include "worker/program/keeper.h"

namespace dt::program {

void ProgramAttempt::BeginEnvironment(Instant now) {
  environments::Wanted wanted = spec_.own.wanted;
  wanted.code_folder = start_.code_folder;
  maker_.emplace(start_.token, std::move(wanted), host_.environments,
                 host_.scratch + ".environment", host_.ToolVariables(KindOf(spec_.own.wanted)),
                 say_, [this](const std::string& text) { Log(text); });
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
  const Environment all = EnvironmentWith({});
  const environments::Wanted& wanted = spec_.own.wanted;
  if (!wanted.image.empty()) {
    DT_ASSIGN_OR_RETURN(const environments::Image image, environments::ReadImage(maker_->folder()));
    Environment inherited = PermittedInContainer(all, host_.variables);
    if (!image.python_path.empty()) inherited.emplace("PYTHONPATH", image.python_path);
    // Many images know no folder of this user.
    if (geteuid() != 0) inherited.emplace("HOME", host_.scratch + "/files");
    return inherited;
  }
  Environment inherited = Permitted(all, host_.variables);
  if (!wanted.modules.empty()) {
    return environments::WithModules(std::move(inherited), maker_->loaded());
  }
  if (maker_) return Activated(std::move(inherited), maker_->folder());
  if (wanted.python.empty()) return inherited;
  DT_ASSIGN_OR_RETURN(const std::string folder, FolderOfPython(wanted.python));
  return Activated(std::move(inherited), folder);
}

std::string Host::container_note() const {
  return environments::ContainerNote(environments.folder, scratch);
}

void Host::EndLeftContainer() const {
  environments::EndNotedContainer(container_note(), ToolVariables(environments::Kind::kImage));
}

Environment Host::ToolVariables(environments::Kind kind) const {
  return PermittedToTools(kind, EnvironmentWith({}), variables);
}

// Replaces the program of `options` by the runtime that runs it in a container.
absl::Status ProgramAttempt::EnterContainer(const LaunchContext& context, SpawnOptions& options) {
  environments::ContainerRun run;
  DT_ASSIGN_OR_RETURN(run.image, environments::ReadImage(maker_->folder()));
  const environments::Runtime runtime = environments::RuntimeAt(run.image.path);
  run.name = absl::StrCat("dtrain-", start_.experiment, "-", start_.trial, "-", start_.attempt, "-",
                          start_.rank, "-", Sha256Hex(host_.scratch + start_.token).substr(0, 8));
  const auto mount = [&run](const std::string& folder, bool writable) {
    if (folder.empty() || access(folder.c_str(), F_OK) != 0) return;
    for (const environments::Mount& other : run.mounts) {
      if (other.folder == folder) return;
    }
    run.mounts.push_back({folder, writable});
  };
  for (const std::string& folder : {host_.scratch, start_.code_folder, context.checkpoint_folder}) {
    mount(folder, true);
  }
  mount(context.resume_folder, false);
  for (const std::string& folder : host_.folders) mount(folder, false);
  run.folder = options.folder;
  run.user = geteuid();
  run.group = getegid();
  run.cuda = context.cuda;
  const std::vector<std::string>& gpus = start_.local_devices;
  if (std::find(gpus.begin(), gpus.end(), "") == gpus.end()) run.gpus = gpus;
  run.variables = options.environment;
  if (!environments::KeepsReportFd(runtime)) run.variables.erase("DTRAIN_REPORT_FD");
  run.variables_file = host_.scratch + "/variables";
  const bool shell = !spec_.run.empty() && runtime != environments::Runtime::kApptainer;
  run.words = shell ? ContainerShellWords(spec_.run) : WordsOf(spec_);
  if (!spec_.kept.empty()) run.words = KeptWords(spec_.kept, std::move(run.words));
  // A folder of the image need not be on this host.
  options.folder = host_.scratch;
  container_.emplace(std::move(run), host_.container_note(),
                     host_.ToolVariables(environments::Kind::kImage));
  return container_->Begin(options);
}

// Ends the container of a program that has ended. Returns whether it had one.
bool ProgramAttempt::EndContainer() {
  if (!container_) return false;
  const int status = wait_status_.value_or(0);
  if (stop_request_ == StopRequest::kNone && status != 0) {
    container_end_ = container_->Look(status);
    LookForProgram(status);
  }
  container_->End();
  return true;
}

// Finds out whether the image lacks the program. A program that reported something has started.
void ProgramAttempt::LookForProgram(int status) {
  if (!container_end_.started || container_end_.running || reports_->step() > 0) return;
  const std::string word = WordInDoubt(status, spec_, container_->words());
  if (!container_->Lacks(word, container_end_.path)) return;
  missing_ = MissingEnding(spec_, word, container_end_.path);
  of_experiment_ = IsOfEachTrial(spec_, word);
}

// Sends SIGTERM to the program, or to all processes that it started too.
void ProgramAttempt::AskToEnd(bool all) {
  if (container_) {
    if (!wait_status_) container_->AskToEnd(program_, all);
  } else if (all) {
    AskAllToEnd();
  } else if (!wait_status_) {
    kill(program_, SIGTERM);
  }
}

}  // namespace dt::program
