// attempt.cc: see attempt.h.
#include "worker/program/attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/control_group.h"
#include "common/descendants.h"
#include "common/files.h"
#include "common/limits.h"
#include "common/oom.h"
#include "common/runner_words.h"
#include "worker/program/keeper.h"
#include "worker/program/lookup.h"
#include "worker/program/module.h"
#include "worker/program/stacks.h"

namespace dt::program {
namespace {

// Large, so that a program with many reports rarely waits for this process; the kernel may grant
// less.
constexpr int kPipeBytes = 1 << 20;
// Time after the program's end for the message that its last checkpoint is registered, so that the
// replaced one can be removed. It takes two messages and a commit.
constexpr absl::Duration kRegistrationWait = absl::Seconds(2);

// Sets the file and the words to start: the program's, or those of a keeper around it.
absl::Status ChooseWords(const ProgramSpec& spec, SpawnOptions& options) {
  std::vector<std::string> words = WordsOf(spec);
  DT_ASSIGN_OR_RETURN(options.path, FindProgram(words[0], options.environment));
  if (!spec.kept.empty()) {
    DT_ASSIGN_OR_RETURN(options.path, FindKeeper(options.environment));
    words = KeptWords(spec.kept, std::move(words));
  }
  options.arguments.assign(words.begin() + 1, words.end());
  return absl::OkStatus();
}

}  // namespace

ProgramAttempt::ProgramAttempt(frames::Start start, Host host, Say say)
    : start_(std::move(start)),
      host_(std::move(host)),
      say_(std::move(say)),
      printed_(Printed::Stream::kOutput, start_.metric),
      errors_(Printed::Stream::kError, start_.metric) {}

void ProgramAttempt::Log(const std::string& text) { printed_.Note(kRunnerPrefix + text); }

void ProgramAttempt::Begin(Instant now) {
  host_.EndLeftContainer();  // of an attempt whose dtprogram was killed
  absl::StatusOr<ProgramSpec> spec = SpecOf(start_.spec);
  if (!spec.ok()) return Fail(spec.status());
  spec_ = *std::move(spec);
  if (!spec_.own.IsMade()) return GoOn(now);
  stage_ = Stage::kMaking;
  BeginEnvironment(now);
}

void ProgramAttempt::GoOn(Instant now) {
  absl::Status begun = Prepare();
  if (begun.ok() && !store_address_.empty()) begun = Launch(now);
  if (!begun.ok()) Fail(begun);
}

absl::Status ProgramAttempt::Prepare() {
  DT_ASSIGN_OR_RETURN(resume_,
                      ChooseResume(start_, spec_, [this](const std::string& text) { Log(text); }));
  if (resume_) Log(absl::StrCat("resumes from step ", resume_->id.step));
  frames::Prepared prepared;
  prepared.token = start_.token;
  prepared.target_steps = spec_.steps;
  say_(prepared);
  if (store_address_.empty()) store_address_ = start_.store_address;
  return IsRoot() ? ChoosePort() : absl::OkStatus();
}

// Chooses a free port as torchrun does; the program binds it a moment later.
absl::Status ProgramAttempt::ChoosePort() {
  const UniqueFd probe(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const UniqueFd older(probe.valid() ? -1 : socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int fd = probe.valid() ? probe.get() : older.get();
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  address.ss_family = probe.valid() ? AF_INET6 : AF_INET;
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return SystemError("find a free port at", start_.data_address);
  }
  const uint16_t port = probe.valid() ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                                      : reinterpret_cast<const sockaddr_in&>(address).sin_port;
  const bool brackets = start_.data_address.find(':') != std::string::npos;
  store_address_ =
      absl::StrCat(brackets ? "[" : "", start_.data_address, brackets ? "]:" : ":", ntohs(port));
  say_(frames::StoreUp{start_.token, store_address_});
  return absl::OkStatus();
}

// Makes the folder with the report's FIFO and the module; returns the program's end of the FIFO.
absl::StatusOr<UniqueFd> ProgramAttempt::MakeScratch() {
  DT_RETURN_IF_ERROR(RemoveAll(host_.scratch));
  for (const std::string& folder :
       {host_.scratch, host_.scratch + "/python", host_.scratch + "/files"}) {
    if (mkdir(folder.c_str(), 0700) != 0) return SystemError("make", folder);
  }
  // Not synced: after a crash the folder is made anew.
  DT_ASSIGN_OR_RETURN(OutputFile module, OutputFile::Create(host_.scratch + "/python/dtrain.py"));
  DT_RETURN_IF_ERROR(module.Append(kTrialModule, std::string_view(kTrialModule).size()));
  const std::string fifo = host_.scratch + "/report";
  if (mkfifo(fifo.c_str(), 0600) != 0) return SystemError("make", fifo);
  // We also open it for writing, so that it never ends while the program opens and closes it.
  pipe_ = UniqueFd(open(fifo.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!pipe_.valid()) return SystemError("open", fifo);
  fcntl(pipe_.get(), F_SETPIPE_SZ, kPipeBytes);
  UniqueFd theirs(open(fifo.c_str(), O_WRONLY | O_CLOEXEC));
  if (!theirs.valid()) return SystemError("open", fifo);
  return theirs;
}

// Sets the file and the words to start, and announces the program.
absl::Status ProgramAttempt::ChooseProgram(const LaunchContext& context, SpawnOptions& options) {
  const std::string folder = options.folder;
  if (!spec_.own.wanted.image.empty()) {
    DT_RETURN_IF_ERROR(EnterContainer(context, options));
    Log(Announcement(start_, spec_, folder, ""));
    Log("runs in " + container_->Words());
    return absl::OkStatus();
  }
  DT_RETURN_IF_ERROR(ChooseWords(spec_, options));
  const std::string word = WordLookedUp(spec_);
  const auto found = word.empty() ? std::string() : FindProgram(word, options.environment);
  Log(Announcement(start_, spec_, folder, found.value_or("")));
  return absl::OkStatus();
}

absl::Status ProgramAttempt::Launch(Instant now) {
  DT_ASSIGN_OR_RETURN(const UniqueFd theirs, MakeScratch());
  const uint64_t resumed = resume_ ? resume_->id.step : 0;
  LaunchContext context;
  context.cuda = host_.cuda;
  context.threads = host_.threads;
  context.store_address = store_address_;
  context.report = host_.scratch + "/report";
  context.module_folder = host_.scratch + "/python";
  context.rungs = RungSteps(spec_.steps, start_.validate_at, start_.share_every);
  if (resume_) {
    context.resume_folder = resume_->folder;
    context.resume_step = resumed;
  }
  checkpoints_.emplace(start_, spec_, resume_ ? std::optional(resume_->id) : std::nullopt);
  DT_ASSIGN_OR_RETURN(context.checkpoint_folder, checkpoints_->MakeFolder());
  reports_.emplace(TrialInfo{start_.token, resumed, spec_.steps, context.rungs, start_.metric},
                   now);
  DT_ASSIGN_OR_RETURN(const std::string folder,
                      FolderOf(spec_, start_.code_folder, host_.scratch + "/files"));
  DT_RETURN_IF_ERROR(PrepareMetrics(folder, resumed));
  DT_ASSIGN_OR_RETURN(Environment inherited, Inherited());
  SpawnOptions options;
  DT_ASSIGN_OR_RETURN(options.environment,
                      EnvironmentOf(start_, spec_, context, std::move(inherited)));
  flight_ = FlightFilesIn(options.environment);
  options.folder = folder;
  DT_RETURN_IF_ERROR(ChooseProgram(context, options));
  options.descriptors = {{theirs.get(), kReportFd}};
  DT_ASSIGN_OR_RETURN(const UniqueFd output, printed_.Open());
  options.descriptors.emplace_back(output.get(), STDOUT_FILENO);
  DT_ASSIGN_OR_RETURN(const UniqueFd errors, errors_.Open());
  options.descriptors.emplace_back(errors.get(), STDERR_FILENO);
  options.life = Life::kOfStarter;  // the program ends too if we and our agent are killed together
  oom_kills_before_ = OomKills();
  const std::optional<std::string> around = OwnControlGroup();
  if (around) group_ = ControlGroup::MakeBelow(*around);
  if (group_ != nullptr) options.control_group = group_->descriptor();
  const absl::StatusOr<pid_t> started = Spawn(options);
  if (absl::IsResourceExhausted(started.status()) || (container_ && !started.ok())) {
    return IoError(std::string(started.status().message()));
  }
  if (!started.ok()) {
    return ConfigError(absl::StrCat(started.status().message(), ", in folder ", folder,
                                    "; is it there on this host, and may it be run?",
                                    HintAtScript(options.path)));
  }
  program_ = *started;
  stage_ = Stage::kRunning;
  environment_ = std::move(options.environment);
  say_(frames::Running{start_.token, resumed});
  if (IsRoot()) BeginAsRoot(now.steady);
  return absl::OkStatus();
}

// Rank 0 alone is watched, since it alone reports.
void ProgramAttempt::BeginAsRoot(absl::Duration now) {
  hang_timer_.emplace(spec_.timeouts, now);
  const absl::Duration left = spec_.timeouts.total - absl::Seconds(start_.ran_seconds);
  total_at_ = now + std::max(left, absl::ZeroDuration());
  Pass(checkpoints_->ClearUp());
}

void ProgramAttempt::TakeStoreAddress(const frames::Connect& frame, Instant now) {
  if (!store_address_.empty()) return;
  store_address_ = frame.store_address;
  if (stage_ != Stage::kWaiting) return;
  const absl::Status launched = Launch(now);
  if (!launched.ok()) Fail(launched);
}

void ProgramAttempt::Stop(const frames::Stop& frame, Instant now) {
  const StopRequest stop_request = frame.checkpoint ? StopRequest::kSave : StopRequest::kLeave;
  if (over() || stop_request <= stop_request_) return;
  if (stop_request == StopRequest::kLeave) out_of_time_ = false;  // the order decides
  if (stage_ == Stage::kWaiting || stage_ == Stage::kMaking)
    return End({"cancelled", "stopped before its program started"});
  if (stop_request == StopRequest::kLeave && frame.stacks) {
    return LogStacks("another rank hangs and the gang ends");
  }
  if (stop_request == StopRequest::kLeave) return BeginLeaving(now.steady);
  BeginSaving();
}

// A program knows its children; a shell passes no signal on.
void ProgramAttempt::BeginSaving() {
  stop_request_ = StopRequest::kSave;
  AskToEnd(!spec_.run.empty());
}

void ProgramAttempt::BeginLeaving(absl::Duration now) {
  stop_request_ = StopRequest::kLeave;
  leave_at_ = now + limits::kProgramLeaveGrace;
  checkpoints_->Leave();
  AskToEnd(true);
}

// Takes seconds, so the program begins to leave at the next turn, with that turn's time.
void ProgramAttempt::LogStacks(const std::string& why) {
  Log(why + kProcessesFollow);
  // The record comes first, since Python processes end as they print their stacks.
  const absl::Duration until = SystemClock().Now().steady + limits::kStacksPatience;
  if (const std::string record = TakeFlightRecord(flight_, start_.rank); !record.empty()) {
    Log(absl::StrCat("NCCL's newest collectives are in ", record,
                     "; torchfrtrace of PyTorch compares those of all ranks"));
  }
  const std::vector<pid_t> processes = container_ ? container_->Processes(program_) : Descendants();
  const absl::Duration left = until - SystemClock().Now().steady;
  for (const std::string& line : StacksOf(processes, environment_, left)) Log(line);
  stop_request_ = StopRequest::kLeave;
}

// Asks a program that ran for as long as it may to save. Once its time for that has passed too, it
// has to leave.
void ProgramAttempt::LookAtTotal(absl::Duration now) {
  if (stage_ != Stage::kRunning || now < total_at_) return;
  total_at_ = absl::InfiniteDuration();
  if (stop_request_ == StopRequest::kLeave) return;
  if (out_of_time_) return BeginLeaving(now);
  out_of_time_ = true;
  Log("timeout.total has passed: the program is asked to save and to end");
  total_at_ = now + spec_.timeouts.stop;
  if (stop_request_ == StopRequest::kNone) BeginSaving();
}

// Ends a program that was silent for too long, in the way in which an order to leave does.
void ProgramAttempt::LookAtSilence(absl::Duration now) {
  hang_timer_->NoteTurn(now);
  if (checkpoints_->busy()) hang_timer_->NoteWait(now);
  if (stage_ != Stage::kRunning || stop_request_ != StopRequest::kNone) return;
  overdue_ = hang_timer_->Overdue(now);
  if (!overdue_.empty()) LogStacks(overdue_);
}

void ProgramAttempt::NoteRegistered(const frames::Registered& frame) {
  if (checkpoints_ && IsRoot()) Pass(checkpoints_->NoteRegistered(frame.step));
}

void ProgramAttempt::Reap() {
  for (;;) {
    int status = 0;
    const pid_t ended = waitpid(-1, &status, WNOHANG);
    if (ended == program_) wait_status_ = status;
    if (ended < 0 && errno == EINTR) continue;
    all_gone_ = ended < 0;
    if (ended <= 0) return;
  }
}

bool ProgramAttempt::ProgramIsDone(absl::Duration now) const {
  switch (stop_request_) {
    case StopRequest::kNone:
      return wait_status_.has_value();
    case StopRequest::kSave:
      // A shell may exit before its child has saved.
      return spec_.run.empty() ? wait_status_.has_value() : all_gone_;
    case StopRequest::kLeave:
      return all_gone_ || now >= leave_at_;
  }
  return true;
}

void ProgramAttempt::Serve(Instant now) {
  if (stage_ == Stage::kMaking) return ServeEnvironment(now);
  if (stage_ == Stage::kWaiting || over()) return;
  if (LeavesNext()) BeginLeaving(now.steady);
  if (stage_ == Stage::kRunning) {
    Reap();
    if (ProgramIsDone(now.steady)) Wind(now);
  }
  if (checkpoints_->busy()) Pass(checkpoints_->Take());
  ReadReports(now);
  const bool on_output = printed_.Serve(now.steady);
  const bool on_error = errors_.Serve(now.steady);
  if (hang_timer_ && (on_output || on_error)) hang_timer_->NoteOutput(now.steady);
  TakePrinted(now);
  if (metrics_ && stage_ == Stage::kRunning && !checkpoints_->busy()) {
    PassLines(metrics_->Look(now.steady), now);
  }
  if (IsRoot()) {
    Pass(reports_->Tend(now));
    SayHint();
    LookAtSilence(now.steady);
    LookAtTotal(now.steady);
  }
  if (stage_ == Stage::kWinding && !WindsOn(now.steady)) {
    if (!unread_.empty() && !overlong_) TakeLine(std::exchange(unread_, {}), now);
    printed_.Finish(now.steady);
    errors_.Finish(now.steady);
    TakePrinted(now);
    if (checkpoints_->busy()) return;  // the line was about a checkpoint
    if (metrics_) PassLines(metrics_->Finish(), now);
    if (IsRoot()) Pass(reports_->Finish(now));
    End(EndingNow());
  }
}

Ending ProgramAttempt::EndingNow() const {
  if (!overdue_.empty() && stop_request_ == StopRequest::kLeave) return {"hang", overdue_};
  if (out_of_time_) {
    const absl::Duration total = absl::Trunc(spec_.timeouts.total, absl::Seconds(1));
    return {"finished", absl::StrCat("timeout.total of ", absl::FormatDuration(total),
                                     " reached at step ", reports_->step())};
  }
  if (missing_ && stop_request_ == StopRequest::kNone) return *missing_;
  const int status = wait_status_.value_or(SIGKILL);
  const bool oom = OomKills() > oom_kills_before_ || container_end_.oom;
  // The kernel may have killed the runtime's client for the program's memory.
  if (container_ && stop_request_ == StopRequest::kNone && !oom) {
    const std::optional<Ending> ending =
        ContainerEnding(status, container_end_, container_->RuntimeName(), spec_.workdir);
    if (ending) return *ending;
  }
  return EndingOf(status, stop_request_, oom ? Oom::kKilledSome : Oom::kNone);
}

// Ends the program and everything that it left running.
void ProgramAttempt::Wind(Instant now) {
  if (!wait_status_) {
    // This is the status of the process that we are about to end.
    kill(program_, SIGKILL);
    int status = 0;
    while (waitpid(program_, &status, 0) < 0 && errno == EINTR) {
    }
    wait_status_ = status;
  }
  const bool contained = EndContainer();
  // At one instant if there is a group; processes that left it, or had none, one by one.
  const int within = group_ != nullptr ? group_->Kill() : 0;
  const int left = std::max(within, EndDescendants(limits::kTrainerExitGrace));
  group_.reset();
  printed_.Serve(now.steady);
  errors_.Serve(now.steady);
  // Processes of a container end with its first one.
  if (left > 0 && !contained) {
    Log(absl::StrCat("killed ", left, " processes that the program left running"));
  }
  stage_ = Stage::kWinding;
  wind_until_ = now.steady + kRegistrationWait;
}

// Returns whether something of the program is still to come.
bool ProgramAttempt::WindsOn(absl::Duration now) {
  if (stop_request_ == StopRequest::kLeave) return checkpoints_->busy();
  if (checkpoints_->busy()) return true;
  pollfd more = {pipe_.get(), POLLIN, 0};
  if (poll(&more, 1, 0) > 0) return true;
  if (IsRoot()) return checkpoints_->AwaitsWord() && now < wind_until_;
  // Rank 0 may still be saving. Its checkpoint ends the attempt, and the agent then sends a stop.
  return stop_request_ == StopRequest::kSave;
}

void ProgramAttempt::Fail(const absl::Status& error) {
  // Before the program runs, a refusal of the system is not the program's fault.
  const char* cause = error.code() == kConfigError ? "config"
                      : error.code() == kIoError   ? "worker_fault"
                                                   : "trainer_crash";
  End({cause, std::string(error.message())});
}

void ProgramAttempt::End(const Ending& ending) {
  // A program that did not reach its end may have been about to report.
  const auto when = ending.cause == std::string_view("finished") ? Reports::When::kEnded
                                                                 : Reports::When::kRunning;
  const std::string hint = HintNow(when);
  checkpoints_.reset();
  container_.reset();
  maker_.reset();
  pipe_.Reset();
  const absl::Status removed = RemoveAll(host_.scratch);
  if (!removed.ok()) Log(std::string(removed.message()));
  frames::End end;
  end.token = start_.token;
  end.cause = ending.cause;
  end.message = ending.message;
  end.step = reports_ ? reports_->step() : 0;
  end.hint = hint;
  end.of_experiment = of_experiment_;
  say_(end);
  stage_ = Stage::kOver;
}

std::vector<pollfd> ProgramAttempt::Descriptors() const {
  if (stage_ == Stage::kMaking) return maker_->Descriptors();
  std::vector<pollfd> descriptors;
  if (!checkpoints_) return descriptors;
  if (checkpoints_->busy()) {
    descriptors.push_back({checkpoints_->wake_fd(), POLLIN, 0});
  } else if (pipe_.valid()) {
    descriptors.push_back({pipe_.get(), POLLIN, 0});
  }
  descriptors.push_back({printed_.PollFd(), POLLIN, 0});
  descriptors.push_back({errors_.PollFd(), POLLIN, 0});
  return descriptors;
}

absl::Duration ProgramAttempt::NextDeadline() const {
  if (stage_ == Stage::kMaking) return maker_->NextDeadline();
  absl::Duration next = reports_ ? reports_->NextDeadline() : absl::InfiniteDuration();
  if (checkpoints_ && !checkpoints_->busy()) {
    next = std::min({next, printed_.NextDeadline(), errors_.NextDeadline()});
  }
  if (stage_ == Stage::kRunning) next = std::min(next, leave_at_);
  if (LeavesNext()) next = absl::ZeroDuration();
  if (stage_ == Stage::kRunning && metrics_ && !checkpoints_->busy()) {
    next = std::min(next, metrics_->NextDeadline());
  }
  if (stage_ == Stage::kRunning && hang_timer_ && stop_request_ == StopRequest::kNone) {
    next = std::min(next, hang_timer_->Deadline());
  }
  if (stage_ == Stage::kRunning) next = std::min(next, total_at_);
  if (stage_ == Stage::kWinding && IsRoot()) next = std::min(next, wind_until_);
  return next;
}

}  // namespace dt::program
