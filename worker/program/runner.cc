// runner.cc: see runner.h.
#include "worker/program/runner.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>
#include <variant>

#include "absl/time/time.h"
#include "common/check.h"
#include "common/descendants.h"
#include "common/files.h"
#include "common/limits.h"
#include "common/version.h"

namespace dt::program {
namespace {

sigset_t RunnerSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGCHLD}) sigaddset(&signals, number);
  return signals;
}

// Returns whether a child is left, alive or not yet reaped.
bool HasChildren() {
  siginfo_t info{};
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

}  // namespace

void BlockRunnerSignals() {
  const sigset_t signals = RunnerSignals();
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // for the runner's own files; the program gets the default back
}

Runner::Runner(int link, Host host)
    : link_(link), host_(std::move(host)), inherited_(ReadInherited()) {
  const sigset_t signals = RunnerSignals();
  signals_ = UniqueFd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  DT_CHECK(signals_.valid());
}

int Runner::Run() {
  frames::Hello hello;
  hello.program_version = kVersion;
  hello.program_revision = kRevision;
  hello.threads = host_.threads;
  Say(hello);
  Say(frames::Idle{});
  while (!exits_ || attempt_) {
    Wait();
    ReadLink();
    while (!frames_.empty()) {
      const frames::ToTrainer frame = std::move(frames_.front());
      frames_.pop_front();
      TakeFrame(frame);
    }
    if (!attempt_) continue;
    attempt_->Serve(clock_.Now());
    if (attempt_->over()) EndAttempt();
  }
  EndDescendants(limits::kTrainerExitGrace);
  return 0;
}

// Ends what an attempt left, and becomes idle. A stop may have ended it while tools made its
// environment.
void Runner::EndAttempt() {
  attempt_.reset();
  EndDescendants(limits::kTrainerExitGrace);
  const std::string why = WhyNoFurther();
  if (why.empty()) return Say(frames::Idle{});
  std::fprintf(stderr, "dtprogram: serves no further trial: %s\n", why.c_str());
  exits_ = true;
}

// Returns why another attempt would not begin as with a new runner; "": it would.
std::string Runner::WhyNoFurther() const {
  if (HasChildren()) return "a process of this one does not end";
  if (ReadInherited() != inherited_) return "this one changed limits or priorities of dtprogram";
  return "";
}

void Runner::Say(const frames::FromTrainer& frame) {
  const std::string line = frames::ToLine(frame) + "\n";
  for (size_t put = 0; put < line.size();) {
    const ssize_t sent = send(link_.get(), line.data() + put, line.size() - put, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) Abandon("the agent is gone");
    put += static_cast<size_t>(sent);
  }
}

void Runner::Wait() {
  std::vector<pollfd> descriptors = {{link_.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}};
  absl::Duration next = absl::InfiniteDuration();
  if (attempt_) {
    for (const pollfd& descriptor : attempt_->Descriptors()) descriptors.push_back(descriptor);
    next = attempt_->NextDeadline();
  }
  const absl::Duration wait =
      std::clamp(next - clock_.Now().steady, absl::ZeroDuration(), absl::Minutes(1));
  const auto wait_ms = static_cast<int>(absl::ToInt64Milliseconds(wait + absl::Microseconds(999)));
  if (poll(descriptors.data(), descriptors.size(), wait_ms) < 0) DT_CHECK(errno == EINTR);
  signalfd_siginfo info{};
  while (read(signals_.get(), &info, sizeof(info)) == sizeof(info)) {
  }
}

void Runner::ReadLink() {
  char chunk[65536];
  for (;;) {
    const ssize_t got = recv(link_.get(), chunk, sizeof(chunk), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (got <= 0) Abandon("the agent is gone");
    unread_.append(chunk, static_cast<size_t>(got));
    if (unread_.size() > 2 * frames::kFrameBytes) Abandon("the agent sent a frame above 1 MiB");
    for (size_t end; (end = unread_.find('\n')) != std::string::npos; unread_.erase(0, end + 1)) {
      auto parsed = frames::ParseToTrainer(std::string_view(unread_).substr(0, end));
      if (const auto* invalid = std::get_if<frames::InvalidFrame>(&parsed)) {
        Abandon("the agent sent an invalid frame: " + invalid->reason);
      }
      frames_.push_back(std::get<frames::ToTrainer>(std::move(parsed)));
    }
  }
}

void Runner::TakeFrame(const frames::ToTrainer& frame) {
  if (std::holds_alternative<frames::Exit>(frame)) {
    exits_ = true;
    return;
  }
  const Instant now = clock_.Now();
  if (const auto* start = std::get_if<frames::Start>(&frame)) {
    if (attempt_) Abandon("the agent started an attempt within another");
    token_ = start->token;
    attempt_.emplace(*start, host_, [this](const frames::FromTrainer& said) { Say(said); });
    attempt_->Begin(now);
    return;
  }
  // Frames for another attempt are late: that one has ended here.
  if (!attempt_) return;
  if (const auto* connect = std::get_if<frames::Connect>(&frame)) {
    if (connect->token == token_) attempt_->TakeStoreAddress(*connect, now);
  } else if (const auto* environment = std::get_if<frames::Environment>(&frame)) {
    if (environment->token == token_) attempt_->TakeEnvironment(*environment, now);
  } else if (const auto* stop = std::get_if<frames::Stop>(&frame)) {
    if (stop->token == token_) attempt_->Stop(*stop, now);
  } else if (const auto* registered = std::get_if<frames::Registered>(&frame)) {
    if (registered->token == token_) attempt_->NoteRegistered(*registered);
  }
}

void Runner::Abandon(const std::string& why) {
  std::fprintf(stderr, "dtprogram: %s\n", why.c_str());
  EndDescendants(limits::kTrainerExitGrace);
  host_.EndLeftContainer();
  static_cast<void>(RemoveAll(host_.scratch));
  std::fflush(nullptr);
  _exit(1);
}

}  // namespace dt::program
