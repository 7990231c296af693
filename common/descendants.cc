// descendants.cc: reads parents and children from /proc.
#include "common/descendants.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <set>
#include <string>

#include "common/clock.h"
#include "common/files.h"

namespace dt {
namespace {

// Pause between two looks while killed processes end, which usually takes them microseconds.
constexpr int kLookAgainMs = 2;

}  // namespace

std::optional<pid_t> ParentOf(pid_t pid) {
  const std::string text = ReadKernelFile("/proc/" + std::to_string(pid) + "/stat");
  // The name is in brackets, and may itself contain brackets and blanks.
  const size_t after_name = text.rfind(')');
  if (after_name == std::string::npos) return std::nullopt;
  char state = 0;
  int parent = 0;
  if (sscanf(text.c_str() + after_name + 1, " %c %d", &state, &parent) != 2) return std::nullopt;
  if (state == 'Z' || state == 'X') return std::nullopt;
  return parent;
}

void AdoptOrphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

std::vector<pid_t> Descendants() {
  std::multimap<pid_t, pid_t> children;  // by parent
  if (DIR* folder = opendir("/proc")) {
    while (const dirent* entry = readdir(folder)) {
      const pid_t pid = atoi(entry->d_name);
      if (pid <= 0) continue;
      if (const std::optional<pid_t> parent = ParentOf(pid)) children.emplace(*parent, pid);
    }
    closedir(folder);
  }
  std::vector<pid_t> found;
  std::set<pid_t> seen = {getpid()};  // process numbers may be reused while this looks
  std::vector<pid_t> parents = {getpid()};
  while (!parents.empty()) {
    const auto [first, last] = children.equal_range(parents.back());
    parents.pop_back();
    for (auto child = first; child != last; ++child) {
      if (!seen.insert(child->second).second) continue;
      found.push_back(child->second);
      parents.push_back(child->second);
    }
  }
  return found;
}

int EndDescendants(absl::Duration patience) {
  const SystemClock clock;
  const absl::Duration until = clock.Now().steady + patience;
  std::set<pid_t> killed;
  for (;;) {
    pid_t reaped = 0;
    do {
      reaped = waitpid(-1, nullptr, WNOHANG);
    } while (reaped > 0 || (reaped < 0 && errno == EINTR));
    if (reaped < 0) return static_cast<int>(killed.size());  // ECHILD: no process is below this one
    for (const pid_t pid : Descendants()) {
      if (kill(pid, SIGKILL) == 0) killed.insert(pid);
    }
    if (clock.Now().steady >= until) return static_cast<int>(killed.size());
    poll(nullptr, 0, kLookAgainMs);
  }
}

}  // namespace dt
