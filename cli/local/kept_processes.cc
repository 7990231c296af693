#include "cli/local/kept_processes.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "cli/view/words.h"
#include "common/file_lock.h"
#include "common/files.h"
#include "common/limits.h"
#include "common/process_facts.h"
#include "common/spawn.h"
#include "common/status.h"

namespace dt::cli {
namespace {

constexpr char kListName[] = "processes";
// Variable in the environment of the processes and of their children, which marks them as ours.
constexpr char kMark[] = "DTRAIN_UP";
constexpr absl::Duration kLookAgain = absl::Milliseconds(50);
constexpr size_t kTailLines = 5;
// Runs in the child. It becomes the program once it is notified that it is in the list. Without a
// notification it ends.
constexpr char kGate[] = "read -r go && exec \"$@\" </dev/null";

struct Stat {
  char state = 'X';
  pid_t session = 0;
  uint64_t start = 0;
  bool exiting = false;
  bool Alive() const { return state != 'Z' && state != 'X'; }
};

std::optional<Stat> ReadStat(pid_t pid) {
  const std::string text = ReadKernelFile(absl::StrCat("/proc/", pid, "/stat"));
  const size_t name_end = text.rfind(')');  // the program's name may contain any bytes
  if (name_end == std::string::npos) return std::nullopt;
  const std::vector<std::string> fields =
      absl::StrSplit(text.substr(name_end + 1), ' ', absl::SkipEmpty());
  constexpr size_t kSession = 3;
  constexpr size_t kFlags = 6;
  constexpr size_t kStart = 19;
  constexpr uint64_t kExiting = 4;  // the kernel's PF_EXITING
  if (fields.size() <= kStart) return std::nullopt;
  const bool exiting = (std::strtoull(fields[kFlags].c_str(), nullptr, 10) & kExiting) != 0;
  return Stat{fields[0][0], static_cast<pid_t>(std::atol(fields[kSession].c_str())),
              std::strtoull(fields[kStart].c_str(), nullptr, 10), exiting};
}

// Returns whether the process was killed, also if it has not had a processor since: on a busy
// machine that takes seconds. The process's set of signals (ShdPnd) keeps a kill until the process
// is gone. The thread's own set (SigPnd) loses it a moment before the process counts as exiting.
bool IsDying(pid_t pid) {
  if (HasSignal(pid, "ShdPnd", SIGKILL) || HasSignal(pid, "SigPnd", SIGKILL)) return true;
  const std::optional<Stat> stat = ReadStat(pid);
  return !stat.has_value() || stat->exiting || !stat->Alive();
}

bool HasMark(pid_t pid, const std::string& folder) {
  const std::string path = absl::StrCat("/proc/", pid, "/environ");
  if (access(path.c_str(), R_OK) != 0) return false;  // of another user
  const std::string text = ReadKernelFile(path);
  // During exec the kernel shows no environment.
  if (text.empty()) return true;
  const std::string wanted = absl::StrCat(kMark, "=", folder);
  for (const std::string& entry : std::vector<std::string>(absl::StrSplit(text, '\0'))) {
    if (entry == wanted) return true;
  }
  return false;
}

}  // namespace

// Checks the mark too: after a reboot another process may have the same number and start time.
bool KeptProcesses::IsOurs(const Kept& kept) const {
  const std::optional<Stat> stat = ReadStat(kept.pid);
  return stat.has_value() && stat->start == kept.start && stat->Alive() &&
         HasMark(kept.pid, folder_);
}

// Opens a descriptor, which keeps referring to this process.
void KeptProcesses::Signal(const Kept& kept, int signal) const {
  const UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, kept.pid, 0)));
  if (process.valid() && IsOurs(kept)) {
    syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0);
  }
}

KeptProcesses::KeptProcesses(std::string folder, UniqueFd lock)
    : folder_(std::move(folder)), lock_(std::move(lock)) {}

absl::StatusOr<KeptProcesses> KeptProcesses::Open(const std::string& folder, const Pause& pause) {
  DT_ASSIGN_OR_RETURN(UniqueFd lock,
                      AwaitLock(folder + "/lock", "another 'dtctl up' or 'dtctl down'",
                                limits::kUpLockPatience, pause));
  KeptProcesses kept(folder, std::move(lock));
  kept.Read();
  return kept;
}

void KeptProcesses::Read() {
  std::ifstream file(folder_ + "/" + kListName);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    Kept kept;
    if (!(words >> kept.pid >> kept.start >> kept.name)) continue;
    words >> kept.note;
    Put(kept);
  }
}

// A previous process of that name has ended.
void KeptProcesses::Put(const Kept& kept) {
  std::erase_if(list_, [&](const Kept& one) { return one.name == kept.name; });
  list_.push_back(kept);
}

absl::Status KeptProcesses::Write() const {
  std::string text;
  for (const Kept& one : list_) {
    absl::StrAppend(&text, one.pid, " ", one.start, " ", one.name, " ", one.note, "\n");
  }
  return WriteFileAtomically(folder_ + "/" + kListName, text);
}

std::vector<std::string> KeptProcesses::Names() const {
  std::vector<std::string> names;
  for (const Kept& one : list_) names.push_back(one.name);
  return names;
}

bool KeptProcesses::IsAlive(const std::string& name) const {
  return std::any_of(list_.begin(), list_.end(), [&](const Kept& one) {
    return one.name == name && IsOurs(one) && !IsDying(one.pid);
  });
}

std::string KeptProcesses::Note(const std::string& name) const {
  const auto found =
      std::find_if(list_.begin(), list_.end(), [&](const Kept& one) { return one.name == name; });
  return found == list_.end() ? "" : found->note;
}

std::string KeptProcesses::LogPath(const std::string& name) const {
  std::string file = name;
  std::replace(file.begin(), file.end(), ':', '-');
  return absl::StrCat(folder_, "/logs/", file, ".log");
}

std::string KeptProcesses::LogTail(const std::string& name) const {
  std::ifstream file(LogPath(name));
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(Printable(line));
    if (lines.size() > kTailLines) lines.erase(lines.begin());
  }
  std::string text = absl::StrCat("; its log ", Printable(LogPath(name)), " ends with:");
  for (const std::string& line : lines) absl::StrAppend(&text, "\n  ", line);
  return text;
}

absl::Status KeptProcesses::Start(const KeptCommand& command) {
  const std::string& program = command.arguments.front();
  if (access(program.c_str(), X_OK) != 0) {
    return absl::NotFoundError(absl::StrCat("there is no program ", Printable(program), " (",
                                            std::strerror(errno),
                                            "); dtctl looks for it in its own folder"));
  }
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return SystemError("make", "a pipe");
  UniqueFd theirs(ends[0]);
  const UniqueFd ours(ends[1]);
  Environment variables = command.env;
  variables[kMark] = folder_;
  SpawnOptions gate;
  gate.path = "/bin/sh";
  gate.arguments = {"-c", kGate, "sh"};
  gate.arguments.insert(gate.arguments.end(), command.arguments.begin(), command.arguments.end());
  gate.environment = EnvironmentWith(variables);
  gate.descriptors = {{theirs.get(), 0}};
  gate.log = LogPath(command.name);
  gate.group = ProcessGroup::kOwnSession;
  Kept kept;
  kept.name = command.name;
  kept.note = command.note;
  DT_ASSIGN_OR_RETURN(kept.pid, Spawn(gate));
  theirs = UniqueFd();
  const std::optional<Stat> stat = ReadStat(kept.pid);
  if (!stat.has_value()) return SystemError("read", absl::StrCat("/proc/", kept.pid, "/stat"));
  kept.start = stat->start;
  Put(kept);
  DT_RETURN_IF_ERROR(Write());
  if (write(ours.get(), "go\n", 3) != 3) return SystemError("start", program);
  return absl::OkStatus();
}

std::vector<KeptProcesses::Kept> KeptProcesses::Left(const Kept& kept) const {
  std::vector<Kept> left;
  const std::optional<Stat> leader = ReadStat(kept.pid);
  // The number belongs to another process now.
  if (leader.has_value() && leader->Alive() && !IsOurs(kept)) return left;
  for (const std::string& name : ListFolder("/proc").value_or(std::vector<std::string>{})) {
    const pid_t pid = std::atoi(name.c_str());
    if (pid <= 0) continue;
    const std::optional<Stat> stat = ReadStat(pid);
    const bool own = stat.has_value() && stat->Alive() && stat->session == kept.pid;
    if (own && HasMark(pid, folder_)) left.push_back({pid, stat->start, kept.name, ""});
  }
  return left;
}

absl::Status KeptProcesses::End(const std::vector<std::string>& names, absl::Duration patience,
                                const Pause& pause) {
  std::vector<Kept> ending;
  for (const Kept& one : list_) {
    if (std::find(names.begin(), names.end(), one.name) == names.end()) continue;
    ending.push_back(one);
    Signal(one, SIGTERM);
  }
  const absl::Time kill_at = absl::Now() + patience;
  while (true) {
    std::erase_if(ending, [this](const Kept& one) { return Left(one).empty(); });
    if (ending.empty()) return absl::OkStatus();
    if (absl::Now() >= kill_at + limits::kKillPatience) {
      return absl::InternalError(absl::StrCat("process ", ending.front().pid, " (",
                                              ending.front().name,
                                              ") does not end, not even killed; try again later"));
    }
    if (absl::Now() >= kill_at) {
      for (const Kept& one : ending) {
        for (const Kept& left : Left(one)) Signal(left, SIGKILL);
      }
    }
    if (!pause(kLookAgain)) {
      return absl::CancelledError("interrupted; what was told to end goes on ending");
    }
  }
}

absl::Status KeptProcesses::Forget() {
  std::erase_if(list_, [this](const Kept& one) { return !IsOurs(one); });
  return Write();
}

}  // namespace dt::cli
