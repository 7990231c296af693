// container.cc: see container.h.
#include "worker/program/container.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/descendants.h"
#include "common/files.h"
#include "common/process_facts.h"
#include "worker/environments/noted_container.h"
#include "worker/program/ending.h"
#include "worker/program/keeper.h"

namespace dt::program {
namespace {

constexpr absl::Duration kLookPatience = absl::Seconds(10);
// Time for a removal from outside, which has ended the program, to take the container away too.
constexpr absl::Duration kRemovalPatience = absl::Seconds(3);
constexpr absl::Duration kBetweenLooks = absl::Milliseconds(100);
constexpr size_t kLookBytes = 256 << 10;
// Podman's monitor cleans up in some 0.1 s after the container's end.
constexpr absl::Duration kMonitorPatience = absl::Seconds(5);
constexpr int kLookAgainMs = 5;

// Returns the numbers of a process in each PID namespace from ours to its own.
std::vector<pid_t> NumbersOf(pid_t pid) {
  std::istringstream words(ProcessFact(pid, "NSpid"));
  std::vector<pid_t> numbers;
  for (pid_t number = 0; words >> number;) numbers.push_back(number);
  return numbers;
}

// Returns whether the process is one of a container, and not its init, which passes signals on.
bool IsWithin(pid_t pid) {
  const std::vector<pid_t> numbers = NumbersOf(pid);
  return numbers.size() > 1 && numbers.back() != 1;
}

// Returns the process that was the first in its container after the init: the program. 0: none is
// there.
pid_t FirstOf(const std::vector<pid_t>& processes) {
  pid_t first = 0, lowest = 0;
  for (const pid_t pid : processes) {
    const std::vector<pid_t> numbers = NumbersOf(pid);
    if (numbers.empty() || (first != 0 && numbers.back() > lowest)) continue;
    first = pid;
    lowest = numbers.back();
  }
  return first;
}

bool IsMonitor(pid_t pid) { return ProcessName(pid) == "conmon"; }

// Podman's monitor cleans up after the container and ends by itself.
void AwaitMonitor() {
  const SystemClock clock;
  const absl::Duration until = clock.Now().steady + kMonitorPatience;
  for (;;) {
    const std::vector<pid_t> left = Descendants();
    if (std::none_of(left.begin(), left.end(), IsMonitor) || clock.Now().steady >= until) return;
    poll(nullptr, 0, kLookAgainMs);
  }
}

// Ends the first process of a container whose monitor was killed, so that this process adopted it.
// Until it is reaped, podman takes the container for a running one.
void EndAdoptedInits() {
  std::vector<pid_t> inits = Descendants();
  std::erase_if(inits,
                [](pid_t pid) { return ParentOf(pid) != getpid() || NumbersOf(pid).size() < 2; });
  for (const pid_t pid : inits) kill(pid, SIGKILL);
  const SystemClock clock;
  const absl::Duration until = clock.Now().steady + kMonitorPatience;
  for (;;) {
    std::erase_if(inits, [](pid_t pid) { return waitpid(pid, nullptr, WNOHANG) != 0; });
    if (inits.empty() || clock.Now().steady >= until) return;
    poll(nullptr, 0, kLookAgainMs);
  }
}

}  // namespace

std::vector<std::string> ContainerShellWords(const std::string& text) {
  constexpr char kScript[] =
      "trap stop=1 TERM\n"
      "/bin/sh -c \"$1\" &\n"
      "main=$!\n"
      "wait $main; status=$?\n"
      "while [ -n \"$stop\" ] && kill -0 $main 2>/dev/null; do wait $main; status=$?; done\n"
      "[ -z \"$stop\" ] || while kill -0 -1 2>/dev/null; do sleep 0.1; done\n"
      "exit $status";
  return {"/bin/sh", "-c", kScript, "sh", text};
}

Container::Container(environments::ContainerRun run, std::string note, Environment tools)
    : run_(std::move(run)),
      runtime_(environments::RuntimeAt(run_.image.path)),
      note_(std::move(note)),
      tools_(std::move(tools)) {}

Container::~Container() { End(); }

std::string Container::RuntimeName() const {
  return std::filesystem::path(run_.image.path).filename();
}

std::string Container::Words() const {
  return absl::StrCat(RuntimeName(), ", image ", run_.image.reference);
}

absl::Status Container::Begin(SpawnOptions& options) {
  DT_ASSIGN_OR_RETURN(options.arguments, environments::RunArguments(run_));
  DT_RETURN_IF_ERROR(
      WriteFileAtomically(run_.variables_file, environments::FileOf(run_.variables)));
  DT_RETURN_IF_ERROR(environments::NoteContainer(note_, run_.image.path, run_.name));
  noted_ = true;
  options.path = run_.image.path;
  options.environment = environments::RuntimeVariables(run_, tools_);
  return absl::OkStatus();
}

ProgramOutput Container::Ask(std::vector<std::string> arguments, StandardError errors) const {
  if (arguments.empty()) return {};
  SpawnOptions options;
  options.path = run_.image.path;
  options.arguments = std::move(arguments);
  options.environment = tools_;
  options.life = Life::kOfStarter;
  return ReadOutput(std::move(options), kLookBytes, kLookPatience, errors);
}

std::vector<pid_t> Container::Processes(pid_t client) const {
  std::vector<pid_t> found;
  switch (runtime_) {
    case environments::Runtime::kPodman:  // its monitor is an orphan, which this process adopted
      found = Descendants();
      std::erase_if(found, [](pid_t pid) { return !IsWithin(pid); });
      break;
    case environments::Runtime::kDocker: {  // below its daemon
      const ProgramOutput listed =
          Ask(environments::ProcessesArguments(runtime_, run_.name), StandardError::kDropped);
      std::istringstream lines(listed.ok ? listed.text : "");
      for (std::string line; std::getline(lines, line);) {
        pid_t pid = 0;
        const char* begin = line.data() + std::min(line.find_first_not_of(' '), line.size());
        std::from_chars(begin, line.data() + line.size(), pid);
        if (pid > 0 && IsWithin(pid)) found.push_back(pid);
      }
      break;
    }
    case environments::Runtime::kApptainer:  // no PID namespace
      found = Descendants();
      std::erase(found, client);
  }
  return found;
}

// Docker's client passes a signal on to the program. So does podman's, but not in its first
// moments: a signal then ends the client alone. Apptainer's has become the program, or waits for it
// as its child.
void Container::AskToEnd(pid_t client, bool all) const {
  const bool by_client = !all && runtime_ == environments::Runtime::kDocker;
  std::vector<pid_t> processes = by_client ? std::vector<pid_t>() : Processes(client);
  if (!all && runtime_ == environments::Runtime::kPodman && !processes.empty()) {
    const pid_t program = FirstOf(processes);
    processes.clear();
    if (program != 0) processes.push_back(program);
  }
  if (processes.empty()) {
    kill(client, SIGTERM);
  } else {
    AskToEndOnce(processes);
  }
}

environments::ContainerEnd Container::LookOnce() const {
  const ProgramOutput looked =
      Ask(environments::LookArguments(runtime_, run_.name), StandardError::kRead);
  return looked.ended ? environments::ReadContainerEnd(looked.text) : environments::ContainerEnd();
}

environments::ContainerEnd Container::Look(int wait_status) const {
  // Apptainer has no containers that could be asked; its own failures have another status.
  if (runtime_ == environments::Runtime::kApptainer) return {.started = true};
  environments::ContainerEnd end = LookOnce();
  const SystemClock clock;
  const absl::Duration until = clock.Now().steady + kRemovalPatience;
  while (MayBeBeingRemoved(wait_status, end) && clock.Now().steady < until) {
    absl::SleepFor(kBetweenLooks);
    end = LookOnce();
  }
  return end;
}

// A folder that is mounted has the same path on this host. The file itself is not needed: a shell
// drops it, since a tool that is killed in the middle of a copy leaves its container mounted.
environments::Presence Container::PresenceOf(const std::string& file) const {
  for (const environments::Mount& mount : run_.mounts) {
    if (!file.starts_with(mount.folder + "/")) continue;
    return access(file.c_str(), F_OK) == 0 ? environments::Presence::kThere
                                           : environments::Presence::kAbsent;
  }
  SpawnOptions options;
  options.path = "/bin/sh";
  options.arguments = {"-c", "exec \"$0\" \"$@\" >/dev/null", run_.image.path};
  for (std::string& word : environments::CopyArguments(run_.name, file)) {
    options.arguments.push_back(std::move(word));
  }
  options.environment = tools_;
  options.life = Life::kOfStarter;
  const ProgramOutput copied =
      ReadOutput(std::move(options), kLookBytes, kLookPatience, StandardError::kRead);
  return environments::ReadPresence(copied.ok, copied.ended ? copied.text : "");
}

bool Container::Lacks(const std::string& word, const std::string& path) const {
  if (word.empty() || runtime_ == environments::Runtime::kApptainer) return false;
  const std::vector<std::string> files = environments::FilesOfWord(word, path, run_.folder);
  return !files.empty() && std::all_of(files.begin(), files.end(), [this](const auto& file) {
    return PresenceOf(file) == environments::Presence::kAbsent;
  });
}

void Container::End() {
  if (!noted_) return;
  noted_ = false;
  EndAdoptedInits();
  environments::EndNotedContainer(note_, tools_);
  AwaitMonitor();
}

}  // namespace dt::program
