#include "common/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/unique_fd.h"

namespace dt {
namespace {

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

int LastNumber(const SpawnOptions& options) {
  int last = STDERR_FILENO;
  for (const auto& [ours, number] : options.descriptors) last = std::max(last, number);
  return last;
}

class FileActions {
 public:
  explicit FileActions(const SpawnOptions& options) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!options.log.empty()) {
      posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, options.log.c_str(),
                                       O_WRONLY | O_CREAT | O_APPEND, 0600);
      posix_spawn_file_actions_adddup2(&actions_, STDOUT_FILENO, STDERR_FILENO);
    }
    for (const auto& [ours, number] : options.descriptors) {
      posix_spawn_file_actions_adddup2(&actions_, ours, number);
    }
    posix_spawn_file_actions_addclosefrom_np(&actions_, LastNumber(options) + 1);
    if (!options.folder.empty()) {
      posix_spawn_file_actions_addchdir_np(&actions_, options.folder.c_str());
    }
  }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;

  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

class Attributes {
 public:
  explicit Attributes(ProcessGroup group) {
    posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setpgroup(&attributes_, 0);
    const int own = group == ProcessGroup::kOwn          ? POSIX_SPAWN_SETPGROUP
                    : group == ProcessGroup::kOwnSession ? POSIX_SPAWN_SETSID
                                                         : 0;
    posix_spawnattr_setflags(
        &attributes_, static_cast<int16_t>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | own));
  }
  ~Attributes() { posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;

  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

bool Opens(const char* path, int flags, int number) {
  const int fd = open(path, flags, 0600);
  if (fd < 0 || fd == number) return fd == number;
  const bool moved = dup2(fd, number) == number;
  close(fd);
  return moved;
}

// Sets up the child as posix_spawn would; on false, errno has the reason. `kept` is moved to a
// number above the program's.
bool PrepareAsSpawn(const SpawnOptions& options, int kept) {
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
  if (options.group == ProcessGroup::kOwn && setpgid(0, 0) != 0) return false;
  if (options.group == ProcessGroup::kOwnSession && setsid() < 0) return false;
  if (!Opens("/dev/null", O_RDONLY, STDIN_FILENO)) return false;
  if (!options.log.empty() &&
      !(Opens(options.log.c_str(), O_WRONLY | O_CREAT | O_APPEND, STDOUT_FILENO) &&
        dup2(STDOUT_FILENO, STDERR_FILENO) >= 0)) {
    return false;
  }
  for (const auto& [ours, number] : options.descriptors) {
    if (dup2(ours, number) < 0) return false;
  }
  if (dup3(kept, LastNumber(options) + 1, O_CLOEXEC) < 0) return false;
  closefrom(LastNumber(options) + 2);
  if (!options.folder.empty() && chdir(options.folder.c_str()) != 0) return false;
  sigset_t none;
  sigemptyset(&none);
  return sigprocmask(SIG_SETMASK, &none, nullptr) == 0;
}

void JoinGroup(int folder) {
  const int processes = openat(folder, "cgroup.procs", O_WRONLY | O_CLOEXEC);
  if (processes < 0) return;
  static_cast<void>(!write(processes, "0", 1));
  close(processes);
}

// Forks into a control group, which costs no more than a fork. To move a process costs the kernel
// milliseconds, since it waits for all processors.
pid_t ForkInto(int group) {
  if (group < 0) return fork();
  clone_args how{};
  how.flags = CLONE_INTO_CGROUP;
  how.exit_signal = SIGCHLD;
  how.cgroup = static_cast<uint64_t>(group);
  const auto pid = static_cast<pid_t>(syscall(SYS_clone3, &how, sizeof(how)));
  if (pid >= 0 || errno == EAGAIN || errno == ENOMEM) return pid;
  // A kernel before 5.7, a filter of system calls, or a group that takes no processes.
  const pid_t forked = fork();
  if (forked == 0) JoinGroup(group);
  return forked;
}

// posix_spawn cannot request a signal on a parent's death, and one process cannot set it for
// another. Between fork and exec the child calls only what is safe after the fork of a process with
// threads.
int ForkAndExec(const SpawnOptions& options, char* const* words, char* const* variables,
                pid_t* pid) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return errno;
  const UniqueFd told(ends[0]);
  UniqueFd low(ends[1]);
  // A number that none of the program's descriptors gets.
  UniqueFd telling(fcntl(low.get(), F_DUPFD_CLOEXEC, LastNumber(options) + 2));
  low.Reset();
  if (!telling.valid()) return errno;
  const int kept = telling.get();
  const pid_t parent = getpid();
  *pid = ForkInto(options.control_group);
  if (*pid < 0) return errno;
  if (*pid == 0) {
    // First of all; then check whether the parent had already died.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    if (PrepareAsSpawn(options, kept)) execve(options.path.c_str(), words, variables);
    const int error = errno;
    if (write(kept, &error, sizeof(error)) < 0) {  // the number of `kept` after the move
      static_cast<void>(!write(LastNumber(options) + 1, &error, sizeof(error)));
    }
    _exit(127);
  }
  telling.Reset();
  int error = 0;
  ssize_t got;
  do got = read(told.get(), &error, sizeof(error));
  while (got < 0 && errno == EINTR);
  if (got != sizeof(error)) return 0;  // the pipe closed: the program runs
  while (waitpid(*pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return error;
}

// Returns whether an error is about the system and not about the program.
bool LacksMeans(int error) {
  constexpr std::array<int, 8> kErrors{EAGAIN, ENOMEM, EMFILE, ENFILE, ENOSPC, EIO, EDQUOT, ESTALE};
  return std::find(kErrors.begin(), kErrors.end(), error) != kErrors.end();
}

}  // namespace

Environment EnvironmentWith(const Environment& over) {
  Environment merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    merged[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  }
  for (const char* own : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) merged.erase(own);
  for (const auto& [name, value] : over) merged[name] = value;
  return merged;
}

std::string DescribeExit(int wait_status) {
  if (WIFEXITED(wait_status)) {
    return absl::StrCat("exited with status ", WEXITSTATUS(wait_status));
  }
  const int number = WTERMSIG(wait_status);
  const char* name = sigabbrev_np(number);
  return absl::StrCat("was ended by signal ", number, " (SIG", name ? name : "?", ")");
}

absl::StatusOr<pid_t> Spawn(const SpawnOptions& options) {
  std::vector<std::string> words = options.arguments;
  words.insert(words.begin(), options.path);
  std::vector<std::string> variables;
  for (const auto& [name, value] : options.environment) {
    variables.push_back(absl::StrCat(name, "=", value));
  }
  const std::vector<char*> word_pointers = Pointers(words);
  const std::vector<char*> variable_pointers = Pointers(variables);
  pid_t pid = -1;
  int error = 0;
  switch (options.life) {
    case Life::kOwn:
      error = posix_spawn(&pid, options.path.c_str(), FileActions(options).get(),
                          Attributes(options.group).get(), word_pointers.data(),
                          variable_pointers.data());
      break;
    case Life::kOfStarter:
      error = ForkAndExec(options, word_pointers.data(), variable_pointers.data(), &pid);
      break;
  }
  if (error != 0) {
    const std::string text = absl::StrCat("starting ", options.path, ": ", strerror(error));
    return LacksMeans(error) ? absl::ResourceExhaustedError(text) : absl::UnavailableError(text);
  }
  return pid;
}

}  // namespace dt
