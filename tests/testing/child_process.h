// child_process.h: starts a program under test, signals it and waits for it; never leaves it
// behind.
//
// Ownership: the process; the destructor kills and reaps it.
// Threads:   the thread that started it, for the life of the process.
#pragma once

#include <errno.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/spawn.h"
#include "tests/testing/await.h"

namespace dt::testing {

// Stops a child, and returns once all its threads stand still: threads that did not take the signal
// run on for a while, longest on a busy core. Returns false if the child ended instead; the caller
// then reaps it.
inline bool PauseChild(pid_t child) {
  kill(child, SIGSTOP);
  siginfo_t info = {};
  const auto id = static_cast<id_t>(child);
  const auto changed = [&] {
    return waitid(P_PID, id, &info, WSTOPPED | WEXITED | WNOWAIT | WNOHANG) != 0 ||
           info.si_pid != 0;
  };
  if (!Await(changed) || info.si_code != CLD_STOPPED) return false;
  // Take this report, so that the next pause does not find it.
  return waitid(P_PID, id, &info, WSTOPPED | WNOHANG) == 0;
}

class ChildProcess {
 public:
  ChildProcess() = default;
  // Standard output and standard error both go to the end of `log`.
  ChildProcess(const std::vector<std::string>& command, const std::string& log,
               const std::map<std::string, std::string>& env = {})
      : ChildProcess({.path = command[0],
                      .arguments = {command.begin() + 1, command.end()},
                      .environment = EnvironmentWith(env),
                      .log = log}) {}
  explicit ChildProcess(const SpawnOptions& options) {
    const absl::StatusOr<pid_t> pid = Spawn(options);
    pid_ = pid.value_or(-1);
    if (!pid.ok()) ADD_FAILURE() << pid.status();
  }
  ~ChildProcess() { KillAndReap(); }
  ChildProcess(ChildProcess&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)), wait_status_(other.wait_status_) {}
  ChildProcess& operator=(ChildProcess&& other) noexcept {
    if (this != &other) {
      KillAndReap();
      pid_ = std::exchange(other.pid_, -1);
      wait_status_ = other.wait_status_;
    }
    return *this;
  }

  pid_t pid() const { return pid_; }
  void Signal(int number) const {
    if (pid_ > 0) kill(pid_, number);
  }
  bool Pause() const { return pid_ > 0 && PauseChild(pid_); }
  bool Running() {
    if (pid_ > 0) {
      int status = 0;
      if (waitpid(pid_, &status, WNOHANG) == pid_) {
        pid_ = -1;
        wait_status_ = status;
      }
    }
    return pid_ > 0;
  }
  // Returns the wait status, or nothing if the process still runs at the deadline.
  std::optional<int> AwaitExit(std::chrono::milliseconds limit = kPatience) {
    if (!Await([this] { return !Running(); }, limit)) return std::nullopt;
    return wait_status_;
  }
  void KillAndReap() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    while (waitpid(pid_, &wait_status_, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
  int wait_status_ = 0;
};

// Returns a file of the process in /proc, cut short if the process ends meanwhile: std::getline
// takes that as the end, while an iterator over the stream throws.
inline std::string ReadOfProcess(pid_t pid, const std::string& name) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/" + name);
  std::string text;
  for (std::string line; std::getline(file, line);) text += line + "\n";
  return text;
}

// Returns true while a process with this id exists and has not ended.
inline bool ProcessAlive(pid_t pid) {
  const std::string text = ReadOfProcess(pid, "stat");
  const size_t after_name = text.rfind(')');
  return after_name != std::string::npos && text.size() > after_name + 2 &&
         text[after_name + 2] != 'Z' && text[after_name + 2] != 'X';
}

// Returns true while a new process does not run a program of its own: it has not begun it yet, or
// the loader only lists its libraries, as a worker lets it do at its start.
inline bool RunsNoProgram(pid_t pid, pid_t parent) {
  std::error_code ignored;
  const std::filesystem::path proc = "/proc";
  const auto exe = std::filesystem::read_symlink(proc / std::to_string(pid) / "exe", ignored);
  const auto starter =
      std::filesystem::read_symlink(proc / std::to_string(parent) / "exe", ignored);
  return exe == starter ||
         ReadOfProcess(pid, "environ").find("LD_TRACE_LOADED_OBJECTS=") != std::string::npos;
}

// Returns the living processes that `parent` started and that run a program.
inline std::vector<pid_t> ChildrenOf(pid_t parent) {
  std::vector<pid_t> children;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const pid_t pid = atoi(entry.path().filename().c_str());
    if (pid <= 0) continue;
    const std::string text = ReadOfProcess(pid, "stat");
    const size_t after_name = text.rfind(')');
    if (after_name == std::string::npos) continue;
    char state = 0;
    int found = 0;
    if (sscanf(text.c_str() + after_name + 1, " %c %d", &state, &found) == 2 && found == parent &&
        state != 'Z' && !RunsNoProgram(pid, parent)) {
      children.push_back(pid);
    }
  }
  return children;
}

}  // namespace dt::testing
