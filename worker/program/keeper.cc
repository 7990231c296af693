// keeper.cc: see keeper.h.
#include "worker/program/keeper.h"

#include <signal.h>

#include <fstream>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/descendants.h"

namespace dt::program {
namespace {

// The name that a keeper gives its process (_be_known in python/dtrain/trial.py).
constexpr char kKeeperName[] = "dtrain-keep";

bool IsKeeper(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/comm"));
  std::string name;
  return std::getline(file, name) && name == kKeeperName;
}

}  // namespace

void AskAllToEnd() {
  for (const pid_t pid : Descendants()) {
    const std::optional<pid_t> parent = ParentOf(pid);
    if (!parent.has_value() || !IsKeeper(*parent)) kill(pid, SIGTERM);
  }
}

}  // namespace dt::program
