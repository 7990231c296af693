// stacks.cc: see stacks.h.
#include "worker/program/stacks.h"

#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/limits.h"
#include "common/process_facts.h"
#include "common/read_output.h"
#include "common/runner_words.h"
#include "common/text.h"
#include "worker/program/lookup.h"

namespace dt::program {
namespace {

namespace fs = std::filesystem;

constexpr size_t kThreadsShown = 8;
constexpr size_t kToolBytes = 256 << 10;

// Returns the first line of a file below /proc, "" where it cannot be read.
std::string LineOf(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return Printable(CleanText(line, 64));
}

// Returns "S", "R", "D", … of a task. Its stat has the name in brackets before it.
std::string StateOf(const fs::path& task) {
  const std::string stat = LineOf(task / "stat");
  const size_t close = stat.rfind(')');
  return close != std::string::npos && close + 2 < stat.size() ? stat.substr(close + 2, 1) : "?";
}

// Returns "sleeps in futex_wait_queue", "runs", …
std::string DoingOf(const fs::path& task) {
  const std::string state = StateOf(task);
  if (state == "R") return "runs";
  if (state == "T" || state == "t") return "is stopped";
  if (state == "Z") return "has ended and nobody reaped it";
  const std::string wait = LineOf(task / "wchan");
  return absl::StrCat(state == "D" ? "waits for a device" : "sleeps",
                      wait.empty() || wait == "0" ? "" : " in " + wait);
}

void AddThreads(pid_t pid, std::vector<std::string>& lines) {
  const fs::path folder = absl::StrCat("/proc/", pid);
  std::vector<fs::path> tasks;
  std::error_code error;
  for (fs::directory_iterator at(folder / "task", error), end; !error && at != end;
       at.increment(error)) {
    tasks.push_back(at->path());
  }
  lines.push_back(
      absl::StrCat("process ", pid, " (", LineOf(folder / "comm"), ") ", DoingOf(folder),
                   tasks.size() > 1 ? absl::StrCat(", ", tasks.size(), " threads") : ""));
  if (tasks.size() < 2) return;
  std::sort(tasks.begin(), tasks.end());
  for (size_t i = 0; i < std::min(tasks.size(), kThreadsShown); ++i) {
    lines.push_back(absl::StrCat("  thread ", tasks[i].filename().string(), " (",
                                 LineOf(tasks[i] / "comm"), ") ", DoingOf(tasks[i])));
  }
}

absl::Duration SteadyNow() { return SystemClock().Now().steady; }

// Python prints its stack within milliseconds of SIGABRT, unless the host is very busy.
constexpr absl::Duration kFaultHandlerPatience = absl::Seconds(1);
constexpr absl::Duration kPySpyPatience = absl::Seconds(3);
// gdb reads the symbols of all libraries first.
constexpr absl::Duration kGdbPatience = absl::Seconds(6);

// Reads stacks with the tools that are there, until its time is up.
class Tools {
 public:
  Tools(const Environment& environment, absl::Duration patience)
      : environment_(environment), until_(SteadyNow() + patience) {
    // gdb must not ask the network for symbols.
    environment_["DEBUGINFOD_URLS"] = "";
  }

  // Return the lines of a stack, indented; none where the tool is absent or may not look.
  std::vector<std::string> PySpy(pid_t pid) const {
    return Frames("py-spy", {"dump", "--pid", absl::StrCat(pid)}, kPySpyPatience,
                  [](absl::string_view) { return true; });
  }
  std::vector<std::string> Gdb(pid_t pid) const {
    return Frames("gdb",
                  {"-nx", "-batch", "-iex", "set auto-load off", "-p", absl::StrCat(pid), "-ex",
                   "thread apply all backtrace 24"},
                  kGdbPatience, [](absl::string_view line) {
                    return absl::StartsWith(line, "#") || absl::StartsWith(line, "Thread ");
                  });
  }

 private:
  template <typename Keep>
  std::vector<std::string> Frames(const std::string& tool, std::vector<std::string> arguments,
                                  absl::Duration patience, const Keep& keep) const {
    const absl::StatusOr<std::string> path = FindProgram(tool, environment_);
    patience = std::min(patience, until_ - SteadyNow());
    if (!path.ok() || patience <= absl::ZeroDuration()) return {};
    SpawnOptions options;
    options.path = *path;
    options.arguments = std::move(arguments);
    options.environment = environment_;
    const std::string text = ReadOutput(std::move(options), kToolBytes, patience).text;
    std::vector<std::string> lines;
    for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
      if (keep(line)) {
        lines.push_back(absl::StrCat("  ", Printable(CleanText(std::string(line), 200))));
      }
    }
    return lines;
  }

  Environment environment_;
  const absl::Duration until_;  // steady time
};

// Returns whether the process has a handler for SIGABRT, as Python's faulthandler sets one.
bool HandlesAbort(pid_t pid) { return HasSignal(pid, "SigCgt", SIGABRT); }

bool Runs(pid_t pid) {
  const std::string state = StateOf(absl::StrCat("/proc/", pid));
  return state != "Z" && state != "?";
}

// Makes these Python processes print their own stacks, one after the other, since they share a
// pipe and a line is several writes. Waits until each has ended, so that nothing cuts its print
// short. Returns those that print, in their order.
std::vector<pid_t> AbortPython(const std::vector<pid_t>& processes) {
  std::vector<pid_t> printing;
  const absl::Duration until = SteadyNow() + kFaultHandlerPatience;
  for (const pid_t pid : processes) {
    if (!HandlesAbort(pid) || kill(pid, SIGABRT) != 0) continue;
    printing.push_back(pid);
    while (Runs(pid) && SteadyNow() < until) absl::SleepFor(absl::Milliseconds(10));
  }
  return printing;
}

// A script or a library may have given its process another name than that of its interpreter.
bool IsPython(pid_t pid) {
  std::error_code error;
  const fs::path program = fs::read_symlink(absl::StrCat("/proc/", pid, "/exe"), error);
  return program.filename().string().starts_with("python");
}

}  // namespace

std::vector<std::string> StacksOf(const std::vector<pid_t>& processes,
                                  const Environment& environment, absl::Duration patience) {
  const Tools tools(environment, patience);
  std::vector<std::string> lines;
  std::vector<pid_t> silent;  // Python processes whose stack no tool could read
  size_t shown = 0;
  for (const pid_t pid : processes) {
    if (lines.size() >= kStackLines || shown == kStackProcesses) break;
    ++shown;
    AddThreads(pid, lines);
    std::vector<std::string> frames;
    if (IsPython(pid)) frames = tools.PySpy(pid);
    if (IsPython(pid) && frames.empty()) silent.push_back(pid);
    if (frames.empty()) frames = tools.Gdb(pid);
    lines.insert(lines.end(), frames.begin(), frames.end());
  }
  if (lines.size() > kStackLines) lines.resize(kStackLines);
  if (processes.size() > shown) {
    lines.push_back(absl::StrCat("and ", processes.size() - shown, " processes more"));
  }
  // Last, since it ends them.
  if (const std::vector<pid_t> printing = AbortPython(silent); !printing.empty()) {
    lines.push_back(absl::StrCat(kOwnStacks, absl::StrJoin(printing, " ")));
  }
  return lines;
}

}  // namespace dt::program
