// main.cc: dttrain, run by an agent or by a person.
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <torch/version.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "common/file_lock.h"
#include "common/files.h"
#include "common/text.h"
#include "common/version.h"
#include "worker/trainer/device/device.h"
#include "worker/trainer/link/agent_link.h"
#include "worker/trainer/network/measure.h"
#include "worker/trainer/run/standalone.h"
#include "worker/trainer/run/train.h"

namespace dt::trainer {
namespace {

constexpr char kFooter[] =
    "Under torchrun's RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT it is one rank of\n"
    "many.\n"
    "Example: WORLD_SIZE=2 RANK=0 MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 \\\n"
    "           dttrain --spec trial.json --data-root corpus";

constexpr int kUsageError = 2;

struct Flags {
  bool agent = false;
  int fd = 3;
  std::string lock;
  std::vector<int> cores;
  DeviceOptions device;
  std::string all_reduce = "auto";
  bool device_given = false;
  StandaloneOptions standalone;
};

[[noreturn]] void Refuse(const std::string& message) {
  std::fprintf(stderr, "dttrain: %s\n", message.c_str());
  std::exit(kUsageError);
}

// Returns the exit status of this program; `printed` is the status of writing its output.
int ExitStatus(const absl::Status& printed, int status) {
  if (printed.ok()) return status;
  std::fprintf(stderr, "dttrain: %s\n", std::string(printed.message()).c_str());
  return 1;
}

// Converts a size like 512M to plain digits, or returns an error text.
CLI::Validator Bytes() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        const std::optional<uint64_t> bytes = ParseBytes(text);
        if (!bytes) return "'" + text + "' is not a number of bytes like 512M or 2G";
        text = std::to_string(*bytes);
        return "";
      },
      "BYTES");
}

void Declare(CLI::App& app, Flags& flags) {
  app.footer(kFooter);
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.set_version_flag("--version", std::string("dttrain ") + kVersion + " (" + kRevision +
                                        "), LibTorch " + TORCH_VERSION);
  auto* spec = app.add_option("--spec", flags.standalone.spec_file,
                              "The trial as JSON: trains alone and prints JSON lines");
  auto* agent = app.add_flag("--agent", flags.agent,
                             "Used by dtworker: communicates with it over a socket pair");
  spec->excludes(agent);
  app.add_option("--data-root", flags.standalone.data_root,
                 "Folder that relative data paths start at")
      ->capture_default_str();
  app.add_option("--storage", flags.standalone.storage, "Folder for checkpoints")
      ->capture_default_str();
  app.add_option("--fd", flags.fd, "With --agent: the socket")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  app.add_option("--lock", flags.lock, "With --agent: file that one trainer of a slot holds");
  app.add_option("--device", flags.device.word,
                 "cpu or cuda:N [cpu; cuda:$LOCAL_RANK where that is set and a GPU is here]");
  app.add_option("--threads", flags.device.threads, "Threads of CPU kernels")
      ->check(CLI::Range(0, 4096));
  app.add_option("--cores", flags.cores, "Run on these cores only, such as 0,1")
      ->delimiter(',')
      ->multi_option_policy(CLI::MultiOptionPolicy::Throw)
      ->check(CLI::Range(0, CPU_SETSIZE - 1));
  app.add_option("--memory-limit", flags.device.memory_limit,
                 "Limit of a CPU process's memory, such as 512M or 2G [none]")
      ->transform(Bytes());
  app.add_option("--all-reduce", flags.all_reduce,
                 "Gradients of CPU ranks: gloo, or auto: in shared memory on one host")
      ->check(CLI::IsMember({"auto", "gloo"}))
      ->capture_default_str();
}

Flags ParseFlags(int argc, char** argv) {
  CLI::App app("Trains one rank of one trial.", "dttrain");
  Flags flags;
  Declare(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error) == 0 ? ExitStatus(FlushStandardOutput(), 0) : kUsageError);
  }
  if (flags.agent == !flags.standalone.spec_file.empty()) {
    Refuse("give either --spec FILE or --agent; see --help");
  }
  flags.device.share_memory = flags.all_reduce == "auto";
  flags.device_given = app.count("--device") > 0;
  return flags;
}

std::string Listed(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

// Pins the process to cores. Call before LibTorch starts threads, which inherit the setting.
void PinTo(const std::vector<int>& cores) {
  if (cores.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(core, &set);
  if (sched_setaffinity(0, sizeof(set), &set) != 0) {
    Refuse("--cores " + Listed(cores) + ": " + std::strerror(errno) +
           "; this process may not use them; restart its dtworker, which assigns cores anew");
  }
}

// Waits for the slot's lock, so that a slot has one trainer at a time: the lock is free only when
// the previous trainer has ended. The descriptor stays open until the process ends.
void HoldLock(const std::string& path, int agent_fd) {
  if (path.empty()) return;
  absl::StatusOr<UniqueFd> lock = AwaitSlotLock(path, agent_fd);
  if (absl::IsCancelled(lock.status())) std::exit(1);  // the agent has ended
  if (!lock.ok()) Refuse("--lock: " + std::string(lock.status().message()));
  lock->Release();
}

frames::Hello MakeHello(Device& device, const std::vector<int>& cores) {
  const DeviceFacts facts = device.Facts();
  frames::Hello hello;
  hello.program_version = kVersion;
  hello.program_revision = kRevision;
  hello.torch_version = TORCH_VERSION;
  hello.nccl_version = facts.nccl_version;
  hello.cuda_version = facts.cuda_version;
  hello.device_name = facts.name;
  hello.gpu_uuid = facts.gpu_uuid;
  hello.threads = facts.threads;
  hello.cores = Listed(cores);
  hello.memory_bytes = facts.memory_bytes;
  return hello;
}

int RunUnderAgent(const Flags& flags) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  fcntl(flags.fd, F_SETFD, FD_CLOEXEC);
  HoldLock(flags.lock, flags.fd);
  absl::StatusOr<std::unique_ptr<Device>> device = OpenDevice(flags.device);
  if (!device.ok()) Refuse(std::string(device.status().message()));
  // Never destroyed: its reading thread ends the process.
  AgentLink& link = *new AgentLink(flags.fd);
  link.Say(MakeHello(**device, flags.cores));
  for (;;) {
    link.Say(frames::Idle{});
    const AgentLink::Order order = link.AwaitStart();
    const AttemptOutcome outcome = MeasuresNetwork(order.start)
                                       ? MeasureNetwork(order.start, **device, *order.conversation)
                                       : RunAttempt(order.start, **device, *order.conversation, {});
    if (!outcome.freed.ok()) {
      std::fprintf(stderr, "dttrain: leaving, because freeing the attempt failed: %s\n",
                   std::string(outcome.freed.message()).c_str());
      return 1;
    }
    // After an unknown error on a GPU, its CUDA context may be lost. A new process gets a new one.
    if (outcome.end.cause == "trainer_crash" && (*device)->Torch().is_cuda()) return 1;
  }
}

// Returns the index of this process's own GPU, or nullptr. torchrun gives each process of a host
// its own GPU; a host without GPUs trains on its CPU.
const char* OwnGpu(const Flags& flags) {
  return flags.agent || flags.device_given ? nullptr : std::getenv("LOCAL_RANK");
}

bool MayNeedCuda(const Flags& flags) {
  return flags.device.word.rfind("cuda", 0) == 0 || OwnGpu(flags) != nullptr;
}

absl::StatusOr<std::unique_ptr<Device>> OpenDeviceAlone(const Flags& flags) {
  if (const char* index = OwnGpu(flags)) {
    DeviceOptions own_gpu = flags.device;
    own_gpu.word = std::string("cuda:") + index;
    if (absl::StatusOr<std::unique_ptr<Device>> gpu = OpenDevice(own_gpu); gpu.ok()) return gpu;
  }
  return OpenDevice(flags.device);
}

int RunAlone(const Flags& flags) {
  absl::StatusOr<StandaloneRun> run = ReadStandalone(flags.standalone);
  if (!run.ok()) Refuse(std::string(run.status().message()));
  absl::StatusOr<std::unique_ptr<Device>> device = OpenDeviceAlone(flags);
  if (!device.ok()) Refuse(std::string(device.status().message()));
  PrintedConversation conversation(run->start.store_address);
  conversation.Say(MakeHello(**device, flags.cores));
  const AttemptOutcome outcome = RunAttempt(run->start, **device, conversation, run->options);
  return ExitStatus(conversation.written(), outcome.end.cause == "finished" ? 0 : 1);
}

}  // namespace
}  // namespace dt::trainer

int main(int argc, char** argv) {
  // A write to a dead peer must return an error, not end the process.
  std::signal(SIGPIPE, SIG_IGN);
  // A file over the user's size limit must fail that write, like a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  const dt::trainer::Flags flags = dt::trainer::ParseFlags(argc, argv);
  if (dt::trainer::MayNeedCuda(flags)) dt::trainer::BecomeCudaProgram(argv);
  dt::trainer::PinTo(flags.cores);
  const int status = flags.agent ? dt::trainer::RunUnderAgent(flags) : dt::trainer::RunAlone(flags);
  std::fflush(nullptr);
  // Skip LibTorch's static destructors: they are useless here and can wait for stuck threads.
  _exit(status);
}
