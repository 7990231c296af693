// ending.cc: see ending.h.
#include "worker/program/ending.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "absl/strings/str_cat.h"
#include "common/spawn.h"
#include "common/text.h"

namespace dt::program {
namespace {

// Explains a shell's own status. With 127 the shell names only the script, even if the missing file
// is its interpreter.
std::string HintAt(int wait_status) {
  if (!WIFEXITED(wait_status)) return "";
  const int signal = WEXITSTATUS(wait_status) - 128;
  if (signal > 0 && signal < SIGRTMIN) {
    if (const char* name = sigabbrev_np(signal); name != nullptr) {
      return absl::StrCat(" (as a shell says that SIG", name, " ended what it ran)");
    }
  }
  if (WEXITSTATUS(wait_status) == 126) {
    return " (it may not be executed: chmod +x, or name its interpreter)";
  }
  if (WEXITSTATUS(wait_status) != 127) return "";
  return " (a command was not found, or the interpreter that the first line of a script names; a "
         "line that ends with a carriage return names another)";
}

constexpr int kShellKilled = 128 + SIGKILL;
constexpr int kShellTerminated = 128 + SIGTERM;
// Statuses of podman and docker that may be their own instead of the program's.
constexpr int kRuntimeFirst = 125;
constexpr int kRuntimeLast = 127;
constexpr int kInitFailed = 1;
constexpr int kNotRunnable = 126;
constexpr int kNotFound = 127;
// Bytes in a message.
constexpr size_t kWordShown = 200;
constexpr size_t kPathShown = 500;

}  // namespace

bool MayBeBeingRemoved(int wait_status, const environments::ContainerEnd& end) {
  if (!WIFEXITED(wait_status) || !end.known || end.running || end.oom) return false;
  const int code = WEXITSTATUS(wait_status);
  return code == kShellKilled || code == kShellTerminated;
}

std::optional<Ending> ContainerEnding(int wait_status, const environments::ContainerEnd& end,
                                      const std::string& runtime, const std::string& workdir) {
  if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0) return std::nullopt;
  const int code = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 0;
  const bool of_runtime = code >= kRuntimeFirst && code <= kRuntimeLast;
  if (end.gone && !of_runtime) {
    return Ending{"worker_fault",
                  absl::StrCat("its container was removed from outside while its program ran; ",
                               runtime, " ", DescribeExit(wait_status))};
  }
  // The client's own end by a signal is never the program's.
  if (end.running || (end.known && WIFSIGNALED(wait_status))) {
    return Ending{"worker_fault",
                  absl::StrCat(runtime, " ", DescribeExit(wait_status),
                               " before the program in its container ended: it was killed, or "
                               "the container's monitor was")};
  }
  if (end.started || !of_runtime) return std::nullopt;
  const std::string text = absl::StrCat(runtime, " did not start the container (exit status ", code,
                                        "); its own words are the last lines of the trial's log");
  // The folder of a relative workdir is this worker's, an absolute one must be in the image.
  if (!workdir.empty() && workdir[0] == '/') {
    return Ending{"config", absl::StrCat(text, "; is the workdir ", workdir, " in the image?")};
  }
  return Ending{"worker_fault", text};
}

// Catatonit ends with status 1 if it cannot start the program, docker's init with 127 or 126.
std::string WordInDoubt(int wait_status, const ProgramSpec& spec,
                        const std::vector<std::string>& words) {
  if (!WIFEXITED(wait_status) || words.empty()) return "";
  const int code = WEXITSTATUS(wait_status);
  // A shell that ends with 127 has started.
  if (code == kNotFound && !spec.run.empty() && spec.kept.empty()) return WordLookedUp(spec);
  return code == kInitFailed || code == kNotFound || code == kNotRunnable ? words[0] : "";
}

Ending MissingEnding(const ProgramSpec& spec, const std::string& word, const std::string& path) {
  const bool is_path = word.find('/') != std::string::npos;
  const char* hint = "; name one that it has, or choose an image with it";
  if (!spec.kept.empty()) {
    hint = "; checkpoint.folder needs it: choose an image with it";
  } else if (!spec.run.empty() && is_path) {
    hint = "; run needs it: choose an image with it, or use command, which needs no shell";
  }
  return {"config",
          absl::StrCat(
              "environment.image: ", spec.own.wanted.image, " has no program '",
              Printable(CleanText(word, kWordShown)), "'",
              is_path ? "" : absl::StrCat(" in its PATH, ", Printable(CleanText(path, kPathShown))),
              hint)};
}

bool IsOfEachTrial(const ProgramSpec& spec, const std::string& word) {
  for (const auto& [name, value] : spec.parameters.items()) {
    if (name == "seed") continue;
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    if (!text.empty() && word.find(text) != std::string::npos) return false;
  }
  return true;
}

Ending EndingOf(int wait_status, StopRequest stop_request, Oom oom) {
  const std::string how = "the program " + DescribeExit(wait_status) + HintAt(wait_status);
  if (stop_request != StopRequest::kNone) return {"cancelled", "it was told to stop; " + how};
  if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0) return {"finished", ""};
  const bool killed = (WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL) ||
                      (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == kShellKilled);
  if (killed && oom == Oom::kKilledSome) {
    return {"oom", "the kernel killed the program: its memory group was full (oom_kill)"};
  }
  return {"trainer_crash", how};
}

}  // namespace dt::program
