// main.cc: dtprogram: flags, the slot's lock, and the runner.
#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/descendants.h"
#include "common/environment_limits.h"
#include "common/file_lock.h"
#include "common/files.h"
#include "common/version.h"
#include "worker/environments/maker.h"
#include "worker/program/runner.h"

namespace dt::program {
namespace {

constexpr int kUsageError = 2;

struct Flags {
  int fd = 3;
  std::string lock;
  std::string scratch;
  std::string device = "cpu";
  int threads = 1;
  std::vector<int> cores;
  uint64_t memory_limit = 0;
  std::vector<std::string> variables, folders;
  EnvironmentStore environments{.folder = "", .bytes_max = limits::kEnvironmentsBytes};
};

[[noreturn]] void Refuse(const std::string& why) {
  std::fprintf(stderr, "dtprogram: %s\n", why.c_str());
  std::exit(1);
}

void Declare(CLI::App& app, Flags& flags) {
  app.footer(
      "dtworker starts it for an experiment that brings a program; see docs/guides/programs.md.");
  app.set_version_flag("--version", absl::StrCat("dtprogram ", kVersion, " (", kRevision, ")"));
  app.add_option("--fd", flags.fd, "The socket to dtworker")->check(CLI::Range(3, 65535));
  app.add_option("--lock", flags.lock, "File that one trainer of a slot holds")->required();
  app.add_option("--scratch", flags.scratch, "Folder for what an attempt needs, made anew for each")
      ->required();
  app.add_option("--device", flags.device, "The slot's device")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  app.add_option("--threads", flags.threads, "OMP_NUM_THREADS where the experiment sets none")
      ->check(CLI::Range(1, 4096));
  app.add_option("--cores", flags.cores, "Run on these cores alone, such as 0,1")
      ->delimiter(',')
      ->check(CLI::Range(0, CPU_SETSIZE - 1));
  app.add_option("--memory-limit", flags.memory_limit, "Bytes of data that each process may have");
  app.add_option("--environments", flags.environments.folder,
                 "Folder for environments that this host's workers share");
  app.add_option("--environments-bytes", flags.environments.bytes_max,
                 "Bytes of all environments in it");
  app.add_option("--folder", flags.folders,
                 "Let programs in containers read this folder; repeatable")
      ->take_all();
  app.add_option("--env", flags.variables, "Hand this variable on as well; repeatable")->take_all();
}

// Sets core affinity and memory limit, which the program inherits.
void TakeShare(const Flags& flags) {
  if (!flags.cores.empty()) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int core : flags.cores) CPU_SET(core, &set);
    if (sched_setaffinity(0, sizeof(set), &set) != 0) {
      Refuse(absl::StrCat("--cores: ", std::strerror(errno),
                          "; this process may not use them, restart its dtworker to deal them out "
                          "anew"));
    }
  }
  if (flags.memory_limit == 0) return;
  const rlimit limit{flags.memory_limit, flags.memory_limit};
  if (setrlimit(RLIMIT_DATA, &limit) != 0) {
    Refuse(absl::StrCat("--memory-limit ", flags.memory_limit,
                        " cannot be set; a hard limit may be lower"));
  }
}

// Takes the slot's lock: one trainer for each slot. The descriptor stays open until the process
// ends.
void HoldLock(const Flags& flags) {
  absl::StatusOr<UniqueFd> lock = AwaitSlotLock(flags.lock, flags.fd);
  if (absl::IsCancelled(lock.status())) std::exit(1);  // the agent is gone
  if (!lock.ok()) Refuse(absl::StrCat("--lock: ", lock.status().message()));
  lock->Release();
}

int Main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == environments::kMakeFlag) {
    return environments::RunMaker(argv[2]);
  }
  CLI::App app("Runs a person's program as one rank of one trial.", "dtprogram");
  Flags flags;
  Declare(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (app.exit(error) != 0) return kUsageError;
    const absl::Status printed = FlushStandardOutput();
    if (!printed.ok()) Refuse(std::string(printed.message()));
    return 0;
  }
  BlockRunnerSignals();
  AdoptOrphans();
  fcntl(flags.fd, F_SETFD, FD_CLOEXEC);
  HoldLock(flags);
  TakeShare(flags);
  return Runner(flags.fd, Host{flags.scratch, flags.device == "cuda", flags.threads,
                               flags.environments, flags.variables, flags.folders})
      .Run();
}

}  // namespace
}  // namespace dt::program

int main(int argc, char** argv) { return dt::program::Main(argc, argv); }
