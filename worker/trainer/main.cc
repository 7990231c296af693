// main.cc: dttrain: under an agent, or alone.
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <torch/version.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <string_view>

#include "common/version.h"
#include "worker/trainer/device/device.h"
#include "worker/trainer/link/agent_link.h"
#include "worker/trainer/run/standalone.h"
#include "worker/trainer/run/train.h"

namespace dt::trainer {
namespace {

constexpr char kHelp[] =
    "dttrain: trains one rank of one trial.\n"
    "\n"
    "  dttrain --spec trial.json [--data-root DIR] [--storage DIR]\n"
    "      Trains alone and prints JSON lines; under torchrun's RANK, WORLD_SIZE, LOCAL_RANK,\n"
    "      MASTER_ADDR and MASTER_PORT it is one rank of many.\n"
    "  dttrain --agent [--fd 3] [--lock FILE]\n"
    "      Speaks with a dtworker over a socket pair. Not for hands.\n"
    "\n"
    "  --device cpu|cuda:N    default: cpu alone, cuda:$LOCAL_RANK when that is set and a GPU is "
    "here\n"
    "  --threads N            of CPU kernels\n"
    "  --cores 0,1            run on these alone\n"
    "  --memory-limit BYTES   of a CPU process's data; 512M and 2G are understood\n"
    "  --all-reduce auto|gloo gradients of CPU ranks; auto: in shared memory on one host\n"
    "  --version, --help\n"
    "\n"
    "Example: WORLD_SIZE=2 RANK=0 MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 \\\n"
    "           dttrain --spec trial.json --data-root corpus\n";

// A trainer whose predecessor still holds the slot waits this long for it to go.
constexpr auto kLockTimeout = std::chrono::seconds(30);
constexpr int kLockPollMs = 50;

struct Flags {
  bool agent = false;
  int fd = 3;
  std::string lock;
  std::string cores;
  DeviceOptions device;
  bool device_given = false;
  StandaloneOptions standalone;
};

[[noreturn]] void Refuse(const std::string& message) {
  std::fprintf(stderr, "dttrain: %s\n", message.c_str());
  std::exit(2);
}

uint64_t ParseBytes(const std::string& flag, const std::string& text) {
  char* end = nullptr;
  errno = 0;
  const unsigned long long number = std::strtoull(text.c_str(), &end, 10);
  const std::string_view unit(end);
  const int shift = unit.empty()                  ? 0
                    : unit == "K" || unit == "Ki" ? 10
                    : unit == "M" || unit == "Mi" ? 20
                    : unit == "G" || unit == "Gi" ? 30
                                                  : -1;
  // strtoull takes "-1" and " 1" as well.
  const bool digit = !text.empty() && text[0] >= '0' && text[0] <= '9';
  if (!digit || errno == ERANGE || shift < 0 || number > (UINT64_MAX >> shift)) {
    Refuse(flag + " " + text + " is not a number of bytes like 512M or 2G");
  }
  return static_cast<uint64_t>(number) << shift;
}

int ParseNumber(const std::string& flag, const std::string& text, int max) {
  if (text.empty() || text.size() > 6 ||
      text.find_first_not_of("0123456789") != std::string::npos || std::stoi(text) > max) {
    Refuse(flag + " " + text + " is not a number from 0 to " + std::to_string(max));
  }
  return std::stoi(text);
}

Flags ParseFlags(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i < argc; ++i) {
    std::string flag = argv[i];
    std::string value;
    if (const size_t equals = flag.find('='); equals != std::string::npos) {
      value = flag.substr(equals + 1);
      flag.resize(equals);
    } else if (flag != "--agent" && flag != "--help" && flag != "-h" && flag != "--version") {
      if (i + 1 == argc) Refuse(flag + " needs a value, or is unknown; see --help");
      value = argv[++i];
    }
    if (flag == "--help" || flag == "-h") {
      std::fputs(kHelp, stdout);
      std::exit(0);
    } else if (flag == "--version") {
      std::printf("dttrain %s (%s), LibTorch %s\n", kVersion, kRevision, TORCH_VERSION);
      std::exit(0);
    } else if (flag == "--agent") {
      flags.agent = true;
    } else if (flag == "--fd") {
      flags.fd = ParseNumber(flag, value, 65535);
    } else if (flag == "--lock") {
      flags.lock = value;
    } else if (flag == "--device") {
      flags.device.word = value;
      flags.device_given = true;
    } else if (flag == "--threads") {
      flags.device.threads = ParseNumber(flag, value, 4096);
    } else if (flag == "--cores") {
      flags.cores = value;
    } else if (flag == "--memory-limit") {
      flags.device.memory_limit = ParseBytes(flag, value);
    } else if (flag == "--all-reduce") {
      if (value != "auto" && value != "gloo")
        Refuse("--all-reduce " + value + " is not auto or gloo");
      flags.device.share_memory = value == "auto";
    } else if (flag == "--spec") {
      flags.standalone.spec_file = value;
    } else if (flag == "--data-root") {
      flags.standalone.data_root = value;
    } else if (flag == "--storage") {
      flags.standalone.storage = value;
    } else {
      Refuse("unknown flag " + flag + "; see --help");
    }
  }
  if (flags.agent == !flags.standalone.spec_file.empty()) {
    Refuse("give either --spec FILE or --agent; see --help");
  }
  return flags;
}

// Before LibTorch starts threads, which inherit it.
void PinTo(const std::string& cores) {
  if (cores.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  std::istringstream words(cores);
  for (std::string word; std::getline(words, word, ',');) {
    CPU_SET(ParseNumber("--cores", word, CPU_SETSIZE - 1), &set);
  }
  if (sched_setaffinity(0, sizeof(set), &set) != 0) {
    Refuse("--cores " + cores + ": " + std::strerror(errno) +
           "; this process may not use them, restart its dtworker to deal them out anew");
  }
}

// One trainer per slot: the lock is free only when the last one is gone. The descriptor stays open
// until the process ends.
void HoldLock(const std::string& path, int agent_fd) {
  if (path.empty()) return;
  const int fd = open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd < 0) Refuse("--lock " + path + ": " + std::strerror(errno));
  const auto deadline = std::chrono::steady_clock::now() + kLockTimeout;
  while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      Refuse("--lock " + path + ": another trainer holds this slot");
    }
    pollfd agent{agent_fd, POLLRDHUP, 0};
    if (poll(&agent, 1, kLockPollMs) > 0) std::exit(1);  // the agent is gone
  }
}

frames::Hello MakeHello(Device& device, const std::string& cores) {
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
  hello.cores = cores;
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
    const Outcome outcome = RunAttempt(order.start, **device, *order.conversation, {});
    if (!outcome.freed.ok()) {
      std::fprintf(stderr, "dttrain: leaving, because freeing the attempt failed: %s\n",
                   std::string(outcome.freed.message()).c_str());
      return 1;
    }
    // After an error of unknown kind on a GPU its context may be lost; a fresh process has a new
    // one.
    if (outcome.end.cause == "trainer_crash" && (*device)->Torch().is_cuda()) return 1;
  }
}

// torchrun gives each process of a host its own GPU; a host without one trains on its CPU.
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
  const Outcome outcome = RunAttempt(run->start, **device, conversation, run->options);
  return outcome.end.cause == "finished" ? 0 : 1;
}

}  // namespace
}  // namespace dt::trainer

int main(int argc, char** argv) {
  // A peer that dies while we write to it must not take us along.
  std::signal(SIGPIPE, SIG_IGN);
  const dt::trainer::Flags flags = dt::trainer::ParseFlags(argc, argv);
  if (dt::trainer::MayNeedCuda(flags)) dt::trainer::BecomeCudaProgram(argv);
  dt::trainer::PinTo(flags.cores);
  const int status = flags.agent ? dt::trainer::RunUnderAgent(flags) : dt::trainer::RunAlone(flags);
  std::fflush(nullptr);
  // LibTorch's static destructors gain nothing and can wait for threads that are stuck.
  _exit(status);
}
