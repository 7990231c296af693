// supervisor.cc: sigtimedwait is all the waiting there is.
#include "worker/shell/supervisor.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <spdlog/spdlog.h>
#include <string.h>
#include <sys/wait.h>
#include <systemd/sd-daemon.h>

#include <algorithm>

#include "common/clock.h"
#include "common/limits.h"

extern char** environ;

namespace dt {
namespace {

struct Child {
  const AgentCommand* command = nullptr;
  pid_t pid = -1;
  absl::Duration start_at = absl::ZeroDuration();
  absl::Duration started;
  absl::Duration pause = limits::kTrainerRestartFirst;
};

// The child must not think that it is the one the service manager watches.
std::vector<std::string> Environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (text.rfind("NOTIFY_SOCKET=", 0) != 0 && text.rfind("WATCHDOG_", 0) != 0) {
      entries.push_back(text);
    }
  }
  return entries;
}

void Start(const std::string& program, Child& child, absl::Duration now) {
  std::vector<std::string> texts = child.command->arguments;
  texts.insert(texts.begin(), program);
  std::vector<char*> arguments;
  for (std::string& text : texts) arguments.push_back(text.data());
  arguments.push_back(nullptr);
  std::vector<std::string> environment = Environment();
  std::vector<char*> variables;
  for (std::string& text : environment) variables.push_back(text.data());
  variables.push_back(nullptr);
  const int error = posix_spawn(&child.pid, program.c_str(), nullptr, nullptr, arguments.data(),
                                variables.data());
  if (error != 0) {
    child.pid = -1;
    spdlog::error("starting {} for {}: {}", program, child.command->name, strerror(error));
  } else {
    spdlog::info("worker {} started as process {}", child.command->name, child.pid);
  }
  child.started = now;
  child.start_at = now + child.pause;
}

void Reap(std::vector<Child>& children, absl::Duration now) {
  int status = 0;
  for (Child& child : children) {
    if (child.pid < 0 || waitpid(child.pid, &status, WNOHANG) != child.pid) continue;
    // One that ran for a while starts the pauses anew.
    child.pause = now - child.started > limits::kTrainerRestartMax
                      ? limits::kTrainerRestartFirst
                      : std::min(child.pause * 2, limits::kTrainerRestartMax);
    child.start_at = now + child.pause;
    child.pid = -1;
    spdlog::warn("worker {} ended (wait status {})", child.command->name, status);
  }
}

}  // namespace

int Supervise(const std::string& program, const std::vector<AgentCommand>& commands) {
  std::vector<Child> children;
  for (const AgentCommand& command : commands) children.push_back({&command});
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGCHLD}) sigaddset(&signals, number);
  SystemClock clock;
  sd_notify(0, "READY=1");
  uint64_t watchdog_us = 0;
  absl::Duration period = absl::Seconds(1);
  if (sd_watchdog_enabled(0, &watchdog_us) > 0) {
    period = std::min(period, absl::Microseconds(watchdog_us) / 2);
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
    sd_notify(0, "WATCHDOG=1");
    const timespec wait = absl::ToTimespec(period);
    const int number = sigtimedwait(&signals, nullptr, &wait);
    if (number == SIGTERM || number == SIGINT) {
      stopping = true;
      sd_notify(0, "STOPPING=1");
      for (const Child& child : children) {
        if (child.pid >= 0) kill(child.pid, SIGTERM);
      }
    }
    Reap(children, clock.Now().steady);
  }
}

}  // namespace dt
