#include "common/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace dt {
namespace {

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
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
    int last = STDERR_FILENO;
    for (const auto& [ours, number] : options.descriptors) {
      posix_spawn_file_actions_adddup2(&actions_, ours, number);
      last = std::max(last, number);
    }
    posix_spawn_file_actions_addclosefrom_np(&actions_, last + 1);
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
  const FileActions actions(options);
  const Attributes attributes(options.group);
  std::vector<std::string> words = options.arguments;
  words.insert(words.begin(), options.path);
  std::vector<std::string> variables;
  for (const auto& [name, value] : options.environment) {
    variables.push_back(absl::StrCat(name, "=", value));
  }
  pid_t pid = -1;
  const int error = posix_spawn(&pid, options.path.c_str(), actions.get(), attributes.get(),
                                Pointers(words).data(), Pointers(variables).data());
  if (error != 0) {
    return absl::UnavailableError(absl::StrCat("starting ", options.path, ": ", strerror(error)));
  }
  return pid;
}

}  // namespace dt
