// stacks.cc: see stacks.h.
#include "worker/program/stacks.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/read_output.h"
#include "common/text.h"
#include "worker/program/lookup.h"

namespace dt::program {
namespace {

namespace fs = std::filesystem;

constexpr size_t kThreadsShown = 8;
constexpr size_t kPySpyBytes = 32 << 10;

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

void AddPythonStack(pid_t pid, const std::string& py_spy, const Environment& environment,
                    std::vector<std::string>& lines) {
  SpawnOptions options;
  options.path = py_spy;
  options.arguments = {"dump", "--pid", absl::StrCat(pid)};
  options.environment = environment;
  const std::string text = ReadOutput(std::move(options), kPySpyBytes, kPySpyPatience).text;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
    lines.push_back(absl::StrCat("  ", Printable(CleanText(std::string(line), 200))));
  }
}

bool IsPython(pid_t pid) {
  return LineOf(absl::StrCat("/proc/", pid, "/comm")).starts_with("python");
}

}  // namespace

std::vector<std::string> StacksOf(const std::vector<pid_t>& processes,
                                  const Environment& environment) {
  const absl::StatusOr<std::string> py_spy = FindProgram("py-spy", environment);
  std::vector<std::string> lines;
  size_t shown = 0;
  for (const pid_t pid : processes) {
    if (lines.size() >= kStackLines || shown == kStackProcesses) break;
    ++shown;
    AddThreads(pid, lines);
    if (py_spy.ok() && IsPython(pid)) AddPythonStack(pid, *py_spy, environment, lines);
  }
  if (lines.size() > kStackLines) lines.resize(kStackLines);
  if (processes.size() > shown) {
    lines.push_back(absl::StrCat("and ", processes.size() - shown, " processes more"));
  }
  return lines;
}

}  // namespace dt::program
