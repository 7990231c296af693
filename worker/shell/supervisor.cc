// supervisor.cc: sigtimedwait is the only wait.
#include "worker/shell/supervisor.h"

#include <errno.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/wait.h>

#include <algorithm>
#include <string>

#include "common/clock.h"
#include "common/limits.h"
#include "common/service_manager.h"
#include "common/spawn.h"

namespace dt {
namespace {

struct Child {
  const AgentCommand* command = nullptr;
  pid_t pid = -1;
  absl::Duration start_at = absl::ZeroDuration();
  absl::Duration started;
  absl::Duration pause = limits::kTrainerRestartFirst;
};

void Start(const std::string& program, Child& child, absl::Duration now) {
  const absl::StatusOr<pid_t> pid = Spawn({.path = program, .arguments = child.command->arguments});
  child.pid = pid.value_or(-1);
  if (pid.ok()) {
    spdlog::info("worker {} started as process {}", child.command->name, child.pid);
  } else {
    spdlog::error("worker {}: {}", child.command->name, std::string(pid.status().message()));
  }
  child.started = now;
  child.start_at = now + child.pause;
}

void Reap(std::vector<Child>& children, absl::Duration now) {
  int status = 0;
  for (Child& child : children) {
    if (child.pid < 0 || waitpid(child.pid, &status, WNOHANG) != child.pid) continue;
    // After a child that ran for a while the pauses start from the beginning.
    child.pause = now - child.started > limits::kTrainerRestartMax
                      ? limits::kTrainerRestartFirst
                      : std::min(child.pause * 2, limits::kTrainerRestartMax);
    child.start_at = now + child.pause;
    child.pid = -1;
    spdlog::warn("worker {} ended (wait status {})", child.command->name, status);
  }
}

}  // namespace

int Supervise(const std::string& program, const std::vector<AgentCommand>& commands,
              AliveFile& alive) {
  std::vector<Child> children;
  children.reserve(commands.size());
  for (const AgentCommand& command : commands) children.push_back({&command});
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGCHLD}) sigaddset(&signals, number);
  SystemClock clock;
  NotifyServiceManager("READY=1");
  absl::Duration period = absl::Seconds(1);
  if (const absl::Duration watchdog = WatchdogPeriod(); watchdog > absl::ZeroDuration()) {
    period = std::min(period, watchdog / 2);
  }
  bool stopping = false;
  for (;;) {
    const absl::Duration now = clock.Now().steady;
    bool any = false;
    for (Child& child : children) {
      if (!stopping && child.pid < 0 && now >= child.start_at) Start(program, child, now);
      any = any || child.pid >= 0;
    }
    if (stopping && !any) return 0;
    NotifyServiceManager("WATCHDOG=1");
    alive.Touch(now);
    const timespec wait = absl::ToTimespec(period);
    const int number = sigtimedwait(&signals, nullptr, &wait);
    if (number == SIGTERM || number == SIGINT) {
      stopping = true;
      NotifyServiceManager("STOPPING=1");
      for (const Child& child : children) {
        if (child.pid >= 0) kill(child.pid, SIGTERM);
      }
    }
    Reap(children, clock.Now().steady);
  }
}

}  // namespace dt
