// child.cc: starts the program, waits for its addresses, reads /proc.
#include "bench/coordinator/child.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/files.h"
#include "common/spawn.h"
#include "nlohmann/json.hpp"

namespace dt::bench {
namespace {

constexpr absl::Duration kStartPatience = absl::Minutes(2);  // a profiler starts slowly

double StatusMib(pid_t pid, const std::string& field) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/status"));
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(field, 0) == 0) return std::atof(line.c_str() + field.size() + 1) / 1024;
  }
  return 0;
}

}  // namespace

absl::Status Child::Start(const std::string& program, const std::string& folder) {
  const std::string addresses = folder + "/addresses.json";
  std::filesystem::remove(addresses);  // of an earlier process
  // Its log goes to a file of its own; standard output is for our table.
  const absl::StatusOr<pid_t> pid =
      Spawn({.path = program,
             .arguments = {"--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--state-dir",
                           folder + "/state", "--addresses-file", addresses},
             .log = folder + "/log"});
  if (!pid.ok()) return pid.status();
  pid_ = *pid;
  for (const absl::Time end = absl::Now() + kStartPatience; absl::Now() < end;) {
    const auto json =
        nlohmann::json::parse(ReadFile(addresses, 65536).value_or(""), nullptr, false);
    if (!json.is_discarded()) {
      address_ = json.value("grpc", "");
      http_ = json.value("http", "");
      return absl::OkStatus();
    }
    if (waitpid(pid_, nullptr, WNOHANG) != 0) break;
    absl::SleepFor(absl::Milliseconds(1));
  }
  return absl::UnavailableError(absl::StrCat(program, " did not start serving; see its messages"));
}

void Child::Stop() { End(SIGTERM); }
void Child::Kill() { End(SIGKILL); }

void Child::End(int signal) {
  if (pid_ < 0) return;
  kill(pid_, signal);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

Child::Usage Child::Measure() const {
  Usage usage;
  const std::string text = ReadKernelFile(absl::StrCat("/proc/", pid_, "/stat"));
  // After the name in parentheses: state, ten fields, then user and system ticks.
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  usage.cpu = absl::Seconds((user + system) / static_cast<double>(sysconf(_SC_CLK_TCK)));
  usage.resident_mib = StatusMib(pid_, "VmRSS:");
  usage.peak_mib = StatusMib(pid_, "VmHWM:");
  return usage;
}

}  // namespace dt::bench
