// shell.cc: one poll loop.
#include "worker/shell/shell.h"

#include <errno.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/control_group.h"
#include "common/descendants.h"
#include "common/lead_limits.h"
#include "common/limits.h"
#include "common/service_manager.h"
#include "common/trainer_limits.h"
#include "worker/shell/trainer_look.h"

namespace dt {
namespace {

sigset_t WorkerSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGCHLD}) sigaddset(&signals, number);
  return signals;
}

}  // namespace

void BlockWorkerSignals() {
  const sigset_t signals = WorkerSignals();
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a limit on file sizes then gives a write error
}

Shell::Shell(WorkerConfig config, AliveFile& alive)
    : config_(std::move(config)),
      alive_(alive),
      agent_(MakeAgent(config_.agent, clock_.Now())),
      stream_(config_.coordinators, config_.credentials, config_.token_file),
      looker_(StorageLooker::Start(config_.agent.storage, config_.agent.hello.storage_id())),
      checker_(PeerChecker::Start()),
      fetcher_({config_.code_folder, config_.slot, config_.coordinators, config_.credentials,
                config_.agent.hello.worker(), config_.token_file}),
      lives_(config_.lives, config_.agent.hello.instance()),
      connect_at_(Now().steady),
      backoff_(limits::kReconnectFirst),
      idle_since_(Now().steady),
      look_at_(Now().steady + limits::kTrainerLook),
      random_(config_.agent.hello.instance()) {
  const sigset_t signals = WorkerSignals();
  signals_ = UniqueFd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  DT_CHECK(signals_.valid());
  if (const absl::Duration period = WatchdogPeriod(); period > absl::ZeroDuration()) {
    watchdog_period_ = period / 2;
    watchdog_at_ = Now().steady;
  }
}

int Shell::Run() {
  // Processes that a killed trainer or program leaves behind become our children, and are ended.
  AdoptOrphans();
  if (const std::optional<std::string> group = OwnControlGroup()) EndAbandonedGroups(*group);
  NotifyServiceManager("READY=1");
  Feed(TimePassed{});
  while (leave_ == Leave::kNo) {
    ConnectWhenDue();
    TellServiceManager();
    alive_.Touch(Now().steady);
    Wait();
    TakeSignals();
    LookForReplacement();  // before orders come that it would be given
    TakeStreamEvents();
    for (CheckpointsGone& gone : looker_.Take()) Feed(std::move(gone));
    for (PeersChecked& checked : checker_.Take()) Feed(std::move(checked));
    TakeCode();
    ServeTrainer();
    EndWhenIdle();
    LookForTrainer();
    if (Now().steady >= NextDeadline(agent_)) Feed(TimePassed{});
  }
  NotifyServiceManager("STOPPING=1");
  FinishStream();
  looker_.Stop(limits::kStreamCloseGrace);
  trainer_.reset();
  EndStrays();
  return leave_ == Leave::kDone ? 0 : 1;
}

void Shell::Feed(AgentEvent event) {
  events_.push_back(std::move(event));
  while (!events_.empty()) {
    AgentEvent next = std::move(events_.front());
    events_.pop_front();
    Actions actions = AgentStep(agent_, std::move(next), Now());
    for (AgentAction& action : actions) Carry(action);
  }
}

void Shell::Carry(AgentAction& action) {
  if (auto* spawn = std::get_if<SpawnTrainer>(&action)) {
    TrainerCommand command = spawn->kind == TrainerKind::kOwn ? config_.trainer : config_.program;
    for (const auto& [name, value] : spawn->env) command.env[name] = value;
    auto started = TrainerProcess::Start(command);
    if (started.ok()) {
      trainer_ = *std::move(started);
      spdlog::info("trainer {} started", trainer_->pid());
    } else {
      std::string message(started.status().message());
      spdlog::error("{}", message);
      events_.push_back(TrainerStartFailed{std::move(message)});
    }
  } else if (auto* send = std::get_if<SendFrame>(&action)) {
    if (trainer_) trainer_->Send(send->frame, Now().steady);
  } else if (std::holds_alternative<KillTrainer>(action)) {
    if (trainer_) trainer_->Kill();
  } else if (auto* report = std::get_if<SendReport>(&action)) {
    stream_.Write(std::move(report->report));
  } else if (auto* look = std::get_if<LookForCheckpoints>(&action)) {
    if (!looker_.Look(std::move(*look))) {
      spdlog::warn("--storage {} does not answer; checkpoints that are gone stay listed",
                   config_.agent.storage);
    }
  } else if (auto* fetch = std::get_if<FetchCode>(&action)) {
    const AttemptToken token = fetch->token;
    if (!fetcher_.Fetch(std::move(*fetch))) {
      events_.push_back(CodeFailed{token, "too many attempts wait for theirs"});
    }
  } else if (const auto* drop = std::get_if<DropCode>(&action)) {
    fetcher_.Drop(*drop);
  } else if (auto* check = std::get_if<CheckPeers>(&action)) {
    checker_.Check(std::move(*check));
  } else if (std::holds_alternative<ExitProcess>(action)) {
    leave_ = Leave::kDone;
  }
}

void Shell::Wait() {
  std::vector<pollfd> descriptors = {{signals_.get(), POLLIN, 0},
                                     {stream_.wake_fd(), POLLIN, 0},
                                     {looker_.wake_fd(), POLLIN, 0},
                                     {checker_.wake_fd(), POLLIN, 0},
                                     {fetcher_.wake_fd(), POLLIN, 0}};
  absl::Duration next = std::min({NextDeadline(agent_), watchdog_at_, alive_.due()});
  if (!stream_.Open()) next = std::min(next, connect_at_);
  if (LooksForTrainer()) next = std::min(next, look_at_);
  if (!agent_.attempt && !agent_.draining) {
    next = std::min(next, idle_since_ + config_.idle_timeout);
  }
  if (trainer_) {
    for (const pollfd& descriptor : trainer_->Descriptors()) descriptors.push_back(descriptor);
    next = std::min(next, trainer_->NextDeadline());
  }
  // Rounded up, so that the deadline has passed when poll returns; at most a minute, so that an
  // infinite one fits.
  const absl::Duration wait =
      std::clamp(next - Now().steady, absl::ZeroDuration(), absl::Minutes(1));
  const auto wait_ms = static_cast<int>(absl::ToInt64Milliseconds(wait + absl::Microseconds(999)));
  if (poll(descriptors.data(), descriptors.size(), wait_ms) < 0) DT_CHECK(errno == EINTR);
}

void Shell::TakeSignals() {
  signalfd_siginfo info{};
  while (read(signals_.get(), &info, sizeof(info)) == sizeof(info)) {
    if (info.ssi_signo == SIGCHLD) continue;  // ServeTrainer checks for it
    spdlog::info("told to stop by signal {}", info.ssi_signo);
    Feed(Terminate{});
  }
}

void Shell::TakeCode() {
  for (CodeFetcher::Found& found : fetcher_.Take()) {
    std::visit([this](auto& event) { Feed(std::move(event)); }, found);
  }
}

// A program's runner serves many trials; after an upgrade it serves no further one.
void Shell::LookForReplacement() {
  if (!trainer_ || agent_.trainer.kind != TrainerKind::kProgram || agent_.trainer.replaced) return;
  if (!trainer_->IsReplaced()) return;
  spdlog::info("{} was replaced: the next trial gets the new one", config_.program.path);
  Feed(TrainerReplaced{});
}

void Shell::ServeTrainer() {
  if (!trainer_) return;
  const absl::Duration now = Now().steady;
  for (AgentEvent& event : trainer_->Serve(now)) Feed(std::move(event));
  std::vector<AgentEvent> last = trainer_->Reap(now);
  if (last.empty()) return;
  spdlog::info("trainer {} ended", trainer_->pid());
  trainer_.reset();
  EndStrays();
  for (AgentEvent& event : last) Feed(std::move(event));
}

// Ends strays. The trainer was the only child, so any process below us now has lost it. A daemon
// left its group.
void Shell::EndStrays() {
  const int ended = EndDescendants(limits::kTrainerExitGrace);
  if (ended > 0) spdlog::warn("killed {} processes that a trainer left behind", ended);
}

void Shell::ConnectWhenDue() {
  if (stream_.Open() || Now().steady < connect_at_) return;
  stream_.Connect();
  Feed(StreamConnected{lives_.Ended()});
}

void Shell::EndWhenIdle() {
  if (agent_.attempt) idle_since_ = Now().steady;
  if (agent_.draining || Now().steady - idle_since_ < config_.idle_timeout) return;
  spdlog::info("had no trial for {}, the --idle-timeout: ends",
               absl::FormatDuration(config_.idle_timeout));
  Feed(Terminate{});
}

// Between attempts only: a look blocks the worker.
bool Shell::LooksForTrainer() const {
  return !agent_.options.hello.no_trainer().empty() && !agent_.attempt;
}

// Looks whether a trainer was installed since the start. The hello of a new stream reports it
// to the coordinator.
void Shell::LookForTrainer() {
  if (!LooksForTrainer() || Now().steady < look_at_) return;
  const auto why = WhyNoTrainer(config_.trainer.path, limits::kLaterTrainerLook);
  look_at_ = Now().steady + limits::kTrainerLook;
  if (!why.has_value()) return;
  agent_.options.hello.set_no_trainer(*why);
  if (!why->empty()) return;
  spdlog::info("found the trainer {}; connects again to report it", config_.trainer.path);
  if (stream_.Open()) stream_.Cancel();
}

void Shell::TakeStreamEvents() {
  for (StreamEvent& event : stream_.Take()) {
    if (auto* orders = std::get_if<StreamOrders>(&event)) {
      if (!agent_.contact) spdlog::info("connected to {}", stream_.address());
      told_.clear();
      unwelcome_ = false;
      backoff_ = limits::kReconnectFirst;
      refused_since_ = absl::InfiniteDuration();
      Feed(OrdersReceived{agent_.session, std::move(orders->orders)});
    } else if (std::holds_alternative<StreamWritten>(event)) {
      Feed(ReportWritten{agent_.session});
    } else {
      TakeStreamEnd(std::get<StreamEnded>(event).status);
    }
  }
}

void Shell::TakeStreamEnd(const absl::Status& status) {
  const absl::Duration now = Now().steady;
  std::string complaint =
      absl::StrCat("no stream to ", stream_.address(), ": ",
                   status.ok() ? "closed by the coordinator" : status.message());
  // The coordinator refused this worker's identity: trying more often changes nothing. The worker
  // does not exit either: its trainer goes on meanwhile, and a service manager would restart it for
  // the same answer.
  unwelcome_ = absl::IsPermissionDenied(status) || absl::IsUnauthenticated(status);
  if (complaint != told_) {
    spdlog::log(
        unwelcome_ ? spdlog::level::err : spdlog::level::warn, "{}{}", complaint,
        unwelcome_
            ? absl::StrCat("; give it another --name, --tls-cert or --token-file and restart it; "
                           "until then it tries each ",
                           absl::FormatDuration(limits::kReconnectRefused))
            : "");
  }
  told_ = std::move(complaint);
  if (absl::IsAlreadyExists(status)) {
    refused_since_ = std::min(refused_since_, now);
    if (now - refused_since_ >= limits::kNameRefusedGrace) {
      spdlog::error("another worker has the name {}; start this one with another --name",
                    config_.agent.hello.worker());
      leave_ = Leave::kNameTaken;
    }
  } else {
    // This may be another coordinator, for which the holder's lease begins again.
    refused_since_ = absl::InfiniteDuration();
  }
  std::uniform_real_distribution<double> jitter(0.5, 1.5);
  const bool several = config_.coordinators.size() > 1;
  // The pause comes after a round of all addresses, one of which may lead.
  const bool next_at_once = several && !stream_.AtLastAddress();
  const absl::Duration rest = next_at_once ? limits::kReconnectFirst : backoff_;
  connect_at_ = now + (unwelcome_ ? limits::kReconnectRefused : rest) * jitter(random_);
  if (!next_at_once) {
    backoff_ =
        std::min(backoff_ * 2, several ? limits::kReconnectMaxOfSeveral : limits::kReconnectMax);
  }
  Feed(StreamLost{});
}

void Shell::TellServiceManager() {
  const absl::Duration now = Now().steady;
  std::string status = agent_.contact ? "connected"
                       : unwelcome_   ? "refused by the coordinator: see the log"
                                      : "looking for the coordinator";
  if (agent_.attempt) {
    const v1::Assigned& held = agent_.attempt->assigned;
    absl::StrAppend(&status, ", ",
                    ToString(AttemptId{{held.experiment(), held.trial()}, held.attempt()}),
                    " rank ", held.rank());
  }
  if (agent_.draining) absl::StrAppend(&status, ", stopping");
  if (status != status_) NotifyServiceManager(absl::StrCat("STATUS=", status));
  status_ = std::move(status);
  if (now < watchdog_at_) return;
  NotifyServiceManager("WATCHDOG=1");
  watchdog_at_ = now + watchdog_period_;
}

void Shell::FinishStream() {
  const absl::Duration until = Now().steady + limits::kStreamCloseGrace;
  if (!agent_.report_in_flight) stream_.WritesDone();
  while (stream_.Open() && Now().steady < until) {
    pollfd wake = {stream_.wake_fd(), POLLIN, 0};
    poll(&wake, 1, static_cast<int>(absl::ToInt64Milliseconds(until - Now().steady)) + 1);
    for (const StreamEvent& event : stream_.Take()) {
      if (std::holds_alternative<StreamWritten>(event)) stream_.WritesDone();
    }
  }
}

}  // namespace dt
