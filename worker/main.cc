// main.cc: dtworker: turns flags into a configuration, then runs the shell (one slot) or the
// supervisor (--all).
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/address.h"
#include "common/clock.h"
#include "common/files.h"
#include "common/host_files.h"
#include "common/limits.h"
#include "common/log/logging.h"
#include "common/net/credentials.h"
#include "common/net/token.h"
#include "common/spawn.h"
#include "common/status.h"
#include "common/text.h"
#include "common/trainer_limits.h"
#include "common/version.h"
#include "common/worker_level.h"
#include "common/worker_name.h"
#include "worker/flags.h"
#include "worker/shell/alive_file.h"
#include "worker/shell/device.h"
#include "worker/shell/join.h"
#include "worker/shell/run_folder.h"
#include "worker/shell/shell.h"
#include "worker/shell/storage.h"
#include "worker/shell/supervisor.h"
#include "worker/shell/trainer_look.h"
#include "worker/slot_environments.h"

namespace dt {
namespace {

constexpr int kUsageError = 2;

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string DefaultStorage() {
  if (const std::string state = Variable("STATE_DIRECTORY"); !state.empty()) {
    return state.substr(0, state.find(':')) + "/storage";
  }
  if (const std::string state = Variable("XDG_STATE_HOME"); !state.empty()) {
    return state + "/dtrain/storage";
  }
  return Variable("HOME") + "/.local/state/dtrain/storage";
}

// Returns the GPUs that a trainer of this worker would see.
std::vector<Gpu> OwnGpus() { return VisibleGpus(FindGpus(), std::getenv("CUDA_VISIBLE_DEVICES")); }

// Returns a name for the slot's lock. A GPU is unique on its host, whatever its number in a
// container. There can be as many CPU slots as names, and two fleets on one host may use the same
// names: they differ in their storage.
std::string SlotName(const LocalSlot& slot, const v1::Hello& hello) {
  constexpr size_t kNameInPath = 160;  // a file's name has at most 255 bytes
  const bool cuda = slot.kind == DeviceKind::kCuda;
  std::string name = cuda && !hello.gpu_uuid().empty() ? hello.gpu_uuid()
                     : cuda                            ? slot.name
                            : hello.worker().substr(0, kNameInPath) + "-" + hello.storage_id();
  for (char& c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!plain && c != '-') c = '_';
  }
  return kSlotPrefix + name;
}

absl::StatusOr<CpuShare> FindShare(const Flags& flags, const LocalSlot& slot,
                                   const HostFacts& facts) {
  const bool cuda = slot.kind == DeviceKind::kCuda;
  if (!cuda && flags.slots > 0 && slot.index >= flags.slots) {
    return absl::InvalidArgumentError(absl::StrCat("--slot ", slot.name, " with --slots ",
                                                   flags.slots,
                                                   ": the last one is cpu:", flags.slots - 1));
  }
  int slots = flags.slots;
  if (slots == 0) slots = cuda ? std::max<int>(1, OwnGpus().size()) : 1;
  CpuShare share = ShareOfCores(slot, slots, flags.threads, facts.cores);
  if (!cuda && slot.index >= 0 && share.cores.empty()) {
    spdlog::warn(
        "--slot {}: slots of {} threads go beyond this host's {} cores, so it is not pinned; "
        "give --slots, the number of CPU slots here",
        slot.name, share.threads, facts.cores.size());
  }
  return share;
}

// Returns 0 for no limit.
absl::StatusOr<uint64_t> MemoryLimitOf(const Flags& flags) {
  if (flags.memory_limit.empty()) return 0;
  const std::optional<uint64_t> bytes = ParseBytes(flags.memory_limit);
  if (bytes.value_or(0) > 0) return *bytes;
  return absl::InvalidArgumentError(
      absl::StrCat("--memory-limit '", flags.memory_limit,
                   "' is not a number of bytes; write it like 536870912, 512M or 2G"));
}

// Checks values of flags that go into messages to the coordinator and to trainers, which are UTF-8.
absl::Status CheckUtf8(const Flags& flags) {
  std::vector<std::pair<const char*, std::string>> texts = {{"--name", flags.name},
                                                            {"--data-address", flags.data_address},
                                                            {"--data-root", flags.data_root},
                                                            {"--storage", flags.storage}};
  for (const std::string& label : flags.labels) texts.emplace_back("--label", label);
  for (const auto& [flag, text] : texts) {
    if (IsUtf8(text)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(flag, " is '", Printable(text), "', which is not UTF-8; give it in UTF-8"));
  }
  for (const auto& [flag, text] : texts) {
    // Paths are this host's concern; the others are shown to everybody.
    const bool path =
        flag == std::string_view("--data-root") || flag == std::string_view("--storage");
    if (path || Printable(text) == text) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        flag, " is '", Printable(text), "', which has a control character; leave it out"));
  }
  return absl::OkStatus();
}

// Checks folders that are passed to trainers and programs, where they are UTF-8 too.
absl::Status CheckFolders(const WorkerConfig& config) {
  const std::pair<const char*, const std::string*> folders[] = {
      {"--storage", &config.agent.storage},
      {"--data-root", &config.agent.data_root},
      {"--run-dir", &config.code_folder}};
  for (const auto& [flag, folder] : folders) {
    if (IsUtf8(*folder)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        flag, ": the path '", Printable(*folder),
        "' is not UTF-8, and trainers are told it in UTF-8; name a folder whose path is"));
  }
  return absl::OkStatus();
}

absl::Status FillHello(const Flags& flags, const LocalSlot& slot, const HostFacts& facts,
                       const std::vector<std::string>& coordinators, v1::Hello& hello) {
  hello.set_host(facts.host);
  hello.set_worker(flags.name.empty() ? facts.host + "/" + slot.name : flags.name);
  if (hello.worker().size() > limits::kNameBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("--name has ", hello.worker().size(), " bytes, at most ", limits::kNameBytes));
  }
  if (!IsWorkerName(hello.worker())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", Printable(hello.worker()), "' cannot be a worker's name: it is ", kWorkerNameRule,
        flags.name.empty() ? "; give another with --name" : "; give another --name"));
  }
  hello.set_device(std::string(Name(slot.kind)));
  hello.set_device_name(CleanText(facts.cpu_name, limits::kNameBytes));
  hello.set_memory_bytes(facts.memory_bytes);
  if (slot.kind == DeviceKind::kCpu) {
    DT_ASSIGN_OR_RETURN(const uint64_t limit, MemoryLimitOf(flags));
    hello.set_memory_limit_bytes(limit);
  }
  if (slot.kind == DeviceKind::kCuda) {
    const std::vector<Gpu> gpus = OwnGpus();
    if (static_cast<size_t>(slot.index) >= gpus.size()) {
      return absl::NotFoundError(absl::StrCat("--slot ", slot.name, ": this host shows ",
                                              gpus.size(),
                                              " GPUs to this process; check the NVIDIA driver, "
                                              "the rights on /dev/nvidia* and "
                                              "CUDA_VISIBLE_DEVICES, or use --slot cpu"));
    }
    hello.set_device_name(gpus[slot.index].name);
    hello.set_gpu_uuid(gpus[slot.index].uuid);
    hello.set_memory_bytes(0);  // the trainer's hello has it
  }
  if (flags.data_address.empty() || flags.data_address.size() > limits::kNameBytes) {
    return absl::InvalidArgumentError(absl::StrCat("--data-address must have 1 to ",
                                                   limits::kNameBytes, " bytes: a host or an IP"));
  }
  hello.set_data_address(flags.data_address);
  hello.set_programs(flags.programs.empty() ? AreLocalAddresses(coordinators)
                                            : flags.programs == "allow");
  DT_RETURN_IF_ERROR(AddEnvironments(flags, hello));
  hello.set_program_version(kVersion);
  hello.set_level(kWorkerLevel);
  hello.set_rescues(true);
  uint64_t instance = 0;
  if (getentropy(&instance, sizeof(instance)) != 0) {
    return absl::UnavailableError("the system gives no random bits");
  }
  hello.set_instance(instance);
  if (flags.labels.size() > limits::kLabels) {
    return absl::InvalidArgumentError(absl::StrCat("more than ", limits::kLabels, " --label"));
  }
  for (const std::string& label : flags.labels) {
    const size_t equals = label.find('=');
    if (equals == 0 || equals == std::string::npos || label.size() > limits::kTextBytes) {
      return absl::InvalidArgumentError(absl::StrCat("--label '", label, "' must be k=v"));
    }
    v1::Label& added = *hello.add_labels();
    added.set_key(label.substr(0, equals));
    added.set_value(label.substr(equals + 1));
  }
  return absl::OkStatus();
}

std::string BesideUs(const char* program) {
  std::error_code ignored;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return (self.parent_path() / program).string();
}

std::string RunFolderOf(const Flags& flags) {
  return flags.run_dir.empty() ? DefaultRunFolder() : flags.run_dir;
}

// Adds cores and memory to the arguments, which both trainers take in the same form.
absl::Status AddShare(const Flags& flags, const CpuShare& share, TrainerCommand& command) {
  if (!share.cores.empty()) {
    command.arguments.insert(command.arguments.end(), {"--cores", absl::StrJoin(share.cores, ",")});
  }
  DT_ASSIGN_OR_RETURN(const uint64_t limit, MemoryLimitOf(flags));
  if (limit == 0) return absl::OkStatus();
  command.arguments.insert(command.arguments.end(), {"--memory-limit", absl::StrCat(limit)});
  return absl::OkStatus();
}

// The lock is the same as dttrain's: a slot has one trainer, whichever it is.
absl::StatusOr<TrainerCommand> MakeProgramCommand(const Flags& flags, const LocalSlot& slot,
                                                  const CpuShare& share, const v1::Hello& hello) {
  TrainerCommand command;
  command.path = flags.program_runner.empty() ? BesideUs("dtprogram") : flags.program_runner;
  const std::string lock = RunFolderOf(flags) + "/" + SlotName(slot, hello) + ".lock";
  command.arguments = {"--fd",      "3",
                       "--lock",    lock,
                       "--scratch", ProgramScratch(lock),
                       "--device",  std::string(Name(slot.kind)),
                       "--threads", absl::StrCat(hello.threads())};
  DT_ASSIGN_OR_RETURN(const std::vector<std::string> more, EnvironmentArguments(flags));
  command.arguments.insert(command.arguments.end(), more.begin(), more.end());
  DT_RETURN_IF_ERROR(AddShare(flags, share, command));
  return command;
}

absl::StatusOr<TrainerCommand> MakeTrainerCommand(const Flags& flags, const LocalSlot& slot,
                                                  const CpuShare& share, const v1::Hello& hello) {
  TrainerCommand command;
  command.path = flags.trainer.empty() ? BesideUs("dttrain") : flags.trainer;
  const std::string run = RunFolderOf(flags);
  DT_RETURN_IF_ERROR(OpenRunFolder(run));
  const bool cuda = slot.kind == DeviceKind::kCuda;
  const bool by_uuid = cuda && !hello.gpu_uuid().empty();
  command.arguments = {"--fd",
                       "3",
                       "--agent",
                       "--device",
                       by_uuid ? "cuda:0"
                       : cuda  ? slot.name
                               : "cpu",
                       "--lock",
                       run + "/" + SlotName(slot, hello) + ".lock"};
  // With a GPU the trainer knows better than a share of the cores (HostThreads).
  if (!cuda || flags.threads > 0) {
    command.arguments.insert(command.arguments.end(), {"--threads", absl::StrCat(hello.threads())});
  }
  DT_RETURN_IF_ERROR(AddShare(flags, share, command));
  // A number may mean one GPU to CUDA and another to us; a UUID does not.
  if (by_uuid) {
    command.env["CUDA_VISIBLE_DEVICES"] = hello.gpu_uuid();
  } else if (cuda) {
    command.env["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID";
  }
  return command;
}

// Signals are blocked: false once one of those that end a worker has come.
bool PauseUnlessStopped(absl::Duration duration) {
  sigset_t stops;
  sigemptyset(&stops);
  for (const int number : {SIGTERM, SIGINT}) sigaddset(&stops, number);
  const timespec pause = absl::ToTimespec(duration);
  return sigtimedwait(&stops, nullptr, &pause) < 0;
}

std::string TokenFileOf(const Flags& flags) {
  return flags.token_file.empty() ? Variable("DTRAIN_TOKEN_FILE") : flags.token_file;
}

// Once for all workers of this process: they have names below its own, and one token file.
absl::Status JoinIfAsked(const Flags& flags, AliveFile& alive) {
  if (flags.join_token_file.empty()) return absl::OkStatus();
  JoinOptions options{.join_token_file = flags.join_token_file, .token_file = TokenFileOf(flags)};
  if (options.token_file.empty()) {
    return absl::InvalidArgumentError(
        "--join-token-file is given without --token-file, which names the file that the lasting "
        "token goes into; give both");
  }
  DT_ASSIGN_OR_RETURN(options.coordinators, SplitAddresses("--coordinator", flags.coordinator));
  for (const std::string& address : options.coordinators) {
    DT_ASSIGN_OR_RETURN(options.credentials, MakeChannelCredentials(flags.tls, address));
  }
  const std::string host = ReadHostFacts().host;
  options.worker = !flags.name.empty() ? flags.name : flags.all ? host : host + "/" + flags.slot;
  return JoinFleet(options, [&alive](absl::Duration pause) {
    alive.Touch(SystemClock().Now().steady);
    return PauseUnlessStopped(pause);
  });
}

absl::StatusOr<WorkerConfig> MakeConfig(const Flags& flags) {
  WorkerConfig config;
  DT_ASSIGN_OR_RETURN(config.coordinators, SplitAddresses("--coordinator", flags.coordinator));
  for (const std::string& address : config.coordinators) {
    DT_ASSIGN_OR_RETURN(config.credentials, ConnectionCredentials::Make(flags.tls, address));
  }
  config.token_file = TokenFileOf(flags);
  if (!config.token_file.empty()) {
    DT_RETURN_IF_ERROR(ReadTokenFile("--token-file", config.token_file).status());
  }
  DT_ASSIGN_OR_RETURN(const LocalSlot slot, ParseSlot(flags.slot));
  AgentOptions& agent = config.agent;
  const HostFacts facts = ReadHostFacts();
  DT_RETURN_IF_ERROR(FillHello(flags, slot, facts, config.coordinators, agent.hello));
  DT_ASSIGN_OR_RETURN(const CpuShare share, FindShare(flags, slot, facts));
  agent.hello.set_threads(share.threads);
  agent.storage = flags.storage.empty() ? DefaultStorage() : flags.storage;
  DT_ASSIGN_OR_RETURN(std::string storage_id, OpenStorage(agent.storage));
  agent.hello.set_storage_id(std::move(storage_id));
  // Trainers run in other folders, so paths for them must be absolute.
  std::error_code code;
  agent.storage = std::filesystem::absolute(agent.storage, code).string();
  agent.data_root = std::filesystem::absolute(flags.data_root, code).string();
  if (!absl::ParseDuration(flags.disconnect_grace, &agent.disconnect_grace) ||
      agent.disconnect_grace < absl::ZeroDuration()) {
    return absl::InvalidArgumentError(absl::StrCat("--disconnect-grace '", flags.disconnect_grace,
                                                   "' is not a duration; write 90s or 30m"));
  }
  if (!flags.idle_timeout.empty() &&
      (!absl::ParseDuration(flags.idle_timeout, &config.idle_timeout) ||
       config.idle_timeout <= absl::ZeroDuration())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--idle-timeout '", flags.idle_timeout, "' is not a duration above 0; write 90s or 30m"));
  }
  DT_ASSIGN_OR_RETURN(config.trainer, MakeTrainerCommand(flags, slot, share, agent.hello));
  agent.trainer_path = config.trainer.path;
  agent.hello.set_no_trainer(
      WhyNoTrainer(config.trainer.path, limits::kFirstTrainerLook).value_or(""));
  if (!agent.hello.no_trainer().empty()) spdlog::warn("no trainer: {}", agent.hello.no_trainer());
  config.code_folder = std::filesystem::absolute(RunFolderOf(flags), code).string() + kCodeFolder;
  config.slot = SlotName(slot, agent.hello);
  config.lives = RunFolderOf(flags) + "/" + config.slot + ".lives";
  DT_RETURN_IF_ERROR(CheckFolders(config));
  DT_ASSIGN_OR_RETURN(config.program, MakeProgramCommand(flags, slot, share, agent.hello));
  agent.program_path = config.program.path;
  EndLeftContainer(flags, RunFolderOf(flags) + "/" + config.slot + ".lock");
  if (!AreLocalAddresses(config.coordinators) && IsLocalAddress(flags.data_address + ":1")) {
    spdlog::warn("--data-address {}: gangs over several hosts cannot reach this one",
                 flags.data_address);
  }
  return config;
}

// A flag that one worker of --all does not have as all of them do.
bool IsOfAll(const std::string& argument, const std::string& flag) {
  return argument == flag || argument.rfind(flag + "=", 0) == 0;
}

// The commands of one worker per GPU: our own flags, with the slot, and the name made distinct.
std::vector<AgentCommand> CommandsForAll(int argc, char** argv, const Flags& flags) {
  std::vector<AgentCommand> commands;
  for (const Gpu& gpu : OwnGpus()) {
    AgentCommand command;
    command.name = absl::StrCat("cuda:", gpu.index);
    for (int i = 1; i < argc; ++i) {
      const std::string argument = argv[i];
      if (argument == "--name" || argument == "--alive-file") ++i;
      if (IsOfAll(argument, "--all") || IsOfAll(argument, "--name") ||
          IsOfAll(argument, "--alive-file")) {
        continue;
      }
      command.arguments.push_back(argument);
    }
    command.arguments.insert(command.arguments.end(), {"--slot", command.name, "--exit-with-parent",
                                                       absl::StrCat(getpid())});
    if (!flags.name.empty()) {
      command.arguments.insert(command.arguments.end(),
                               {"--name", absl::StrCat(flags.name, "/", command.name)});
    }
    commands.push_back(std::move(command));
  }
  return commands;
}

// Returns the exit status.
int Work(int argc, char** argv, const Flags& flags) {
  if (const absl::Status texts = CheckUtf8(flags); !texts.ok()) {
    spdlog::error("{}", std::string(texts.message()));
    return kUsageError;
  }
  AliveFile alive(flags.alive_file);
  alive.Touch(SystemClock().Now().steady);
  if (const absl::Status joined = JoinIfAsked(flags, alive); !joined.ok()) {
    if (absl::IsCancelled(joined)) return 0;
    spdlog::error("{}", std::string(joined.message()));
    return absl::IsInvalidArgument(joined) ? kUsageError : 1;
  }
  if (flags.all) {
    const std::vector<AgentCommand> commands = CommandsForAll(argc, argv, flags);
    if (commands.empty()) {
      spdlog::error("--all: this host shows no GPU; check the NVIDIA driver, or use --slot cpu");
      return 1;
    }
    return Supervise("/proc/self/exe", commands, alive);
  }
  if (flags.exit_with_parent > 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != flags.exit_with_parent) return 1;  // it died before we asked
  }
  auto config = MakeConfig(flags);
  if (!config.ok()) {
    spdlog::error("{}", std::string(config.status().message()));
    return absl::IsInvalidArgument(config.status()) ? kUsageError : 1;
  }
  return Shell(*std::move(config), alive).Run();
}

int Main(int argc, char** argv) {
  CLI::App app("Runs training on one slot, a GPU or a share of the CPU, as dtcoord orders.",
               "dtworker");
  Flags flags;
  DescribeFlags(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (app.exit(error) != 0) return kUsageError;
    const absl::Status printed = FlushStandardOutput();
    if (printed.ok()) return 0;
    std::fprintf(stderr, "dtworker: %s\n", std::string(printed.message()).c_str());
    return 1;
  }
  BlockWorkerSignals();
  SetUpLogging();  // starts a thread, which inherits the blocked signals
  const int code = Work(argc, argv, flags);
  FinishLogging();
  return code;
}

}  // namespace
}  // namespace dt

int main(int argc, char** argv) { return dt::Main(argc, argv); }
