// control_group.cc: see control_group.h.
#include "common/control_group.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/unique_fd.h"

namespace dt {
namespace {

// Number of looks whether an earlier group is empty, and the pause between them.
constexpr int kEmptyLooks = 50;
constexpr int kEmptyAgainMs = 2;

// Returns what the names of our groups begin with: the PID namespace, in which the number after it
// is a process. A container may see the groups of its host; their numbers mean nothing in it.
std::optional<std::string> Prefix() {
  struct stat space;
  if (stat("/proc/self/ns/pid", &space) != 0) return std::nullopt;
  return absl::StrCat("dtrain-", space.st_ino, "-");
}

bool Write(const std::string& file, std::string_view text) {
  const UniqueFd fd(open(file.c_str(), O_WRONLY | O_CLOEXEC));
  return fd.valid() &&
         write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// Returns where version 2 is mounted; in a line of mountinfo the type follows " - ".
std::optional<std::string> MountOfVersion2() {
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    if (!absl::StrContains(line, " - cgroup2 ")) continue;
    std::istringstream words(line);
    std::string number, parent, device, root, place;
    if (words >> number >> parent >> device >> root >> place) return place;
  }
  return std::nullopt;
}

// Removes a group with the groups that its processes made in it, unless a process is left.
bool Remove(const std::string& group) {
  if (rmdir(group.c_str()) == 0 || errno == ENOENT) return true;
  DIR* folder = opendir(group.c_str());
  if (folder == nullptr) return false;
  std::vector<std::string> below;
  while (const dirent* entry = readdir(folder)) {
    const std::string_view name = entry->d_name;
    if (entry->d_type == DT_DIR && name != "." && name != "..") {
      below.push_back(absl::StrCat(group, "/", entry->d_name));
    }
  }
  closedir(folder);
  for (const std::string& each : below) Remove(each);
  return !below.empty() && rmdir(group.c_str()) == 0;
}

// Removes an earlier group of this process. Its killed processes may need a moment.
bool RemoveEarlier(const std::string& group) {
  for (int i = 0; !Remove(group); ++i) {
    if (i == kEmptyLooks || !Write(group + "/cgroup.kill", "1")) return false;
    poll(nullptr, 0, kEmptyAgainMs);
  }
  return true;
}

bool IsWithin(const std::string& group) {
  const pid_t own = getpid();
  std::ifstream processes(group + "/cgroup.procs");
  for (pid_t pid = 0; processes >> pid;) {
    if (pid == own) return true;
  }
  return false;
}

// Returns the path of this process's group of version 2, as the kernel names it.
std::optional<std::string> OwnPath() {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (absl::StartsWith(line, "0::")) return line.substr(3);
  }
  return std::nullopt;
}

std::optional<std::string> FindGroup(const std::string& path) {
  const std::optional<std::string> mount = MountOfVersion2();
  if (!mount) return std::nullopt;
  // A container may have only its own group mounted, and yet see the path that it has outside.
  for (std::string folder : {*mount + (path == "/" ? "" : path), *mount}) {
    if (IsWithin(folder)) return folder;
  }
  return std::nullopt;
}

}  // namespace

// Remembers the folder as long as the path is the same: a group may have thousands of processes.
std::optional<std::string> OwnControlGroup() {
  thread_local std::string found_path, found;
  const std::optional<std::string> path = OwnPath();
  if (!path) return std::nullopt;
  if (!found.empty() && *path == found_path) return found;
  std::optional<std::string> folder = FindGroup(*path);
  found_path = *path;
  found = folder.value_or("");
  return folder;
}

// A group is named after the process that made it. rmdir refuses a group with a process in it: a
// killed process may need a moment, and the next call removes the group then.
void EndAbandonedGroups(const std::string& own) {
  const std::optional<std::string> prefix = Prefix();
  if (!prefix) return;
  DIR* folder = opendir(own.c_str());
  if (folder == nullptr) return;
  while (const dirent* entry = readdir(folder)) {
    pid_t maker = 0;
    absl::string_view name = entry->d_name;
    if (!absl::ConsumePrefix(&name, *prefix) || !absl::SimpleAtoi(name, &maker)) continue;
    if (maker == getpid() || (maker > 0 && (kill(maker, 0) == 0 || errno == EPERM))) continue;
    const std::string group = absl::StrCat(own, "/", entry->d_name);
    Write(group + "/cgroup.kill", "1");
    Remove(group);
  }
  closedir(folder);
}

std::unique_ptr<ControlGroup> ControlGroup::MakeBelow(const std::string& own) {
  EndAbandonedGroups(own);
  const std::optional<std::string> prefix = Prefix();
  if (!prefix) return nullptr;
  std::string folder = absl::StrCat(own, "/", *prefix, getpid());
  if (!RemoveEarlier(folder) || mkdir(folder.c_str(), 0755) != 0) return nullptr;
  UniqueFd descriptor(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::unique_ptr<ControlGroup> group(new ControlGroup(std::move(folder), std::move(descriptor)));
  // Kernels before 5.14 cannot kill a group.
  if (access((group->folder_ + "/cgroup.kill").c_str(), W_OK) != 0) return nullptr;
  return group;
}

ControlGroup::ControlGroup(std::string folder, UniqueFd descriptor)
    : folder_(std::move(folder)), descriptor_(std::move(descriptor)) {}

ControlGroup::~ControlGroup() { Remove(folder_); }

int ControlGroup::Kill() {
  int seen = 0;
  std::ifstream processes(folder_ + "/cgroup.procs");
  for (pid_t pid = 0; processes >> pid;) ++seen;
  return Write(folder_ + "/cgroup.kill", "1") ? seen : 0;
}

}  // namespace dt
