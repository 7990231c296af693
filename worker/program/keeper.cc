// keeper.cc: see keeper.h.
#include "worker/program/keeper.h"

#include <signal.h>

#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/descendants.h"
#include "common/process_facts.h"
#include "common/status.h"
#include "worker/program/lookup.h"

namespace dt::program {
namespace {

// The name that a keeper gives its process (_be_known in python/dtrain/trial.py).
constexpr char kKeeperName[] = "dtrain-keep";
constexpr char kPython[] = "python3";

bool IsKeeper(pid_t pid) { return ProcessName(pid) == kKeeperName; }

}  // namespace

absl::StatusOr<std::string> FindKeeper(const Environment& environment) {
  absl::StatusOr<std::string> found = FindProgram(kPython, environment);
  if (found.ok()) return found;
  return ConfigError(absl::StrCat("checkpoint.folder needs it: ", found.status().message()));
}

std::vector<std::string> KeptWords(const std::string& pattern, std::vector<std::string> words) {
  std::vector<std::string> kept = {kPython, "-m", "dtrain", "keep", pattern, "--"};
  kept.insert(kept.end(), std::make_move_iterator(words.begin()),
              std::make_move_iterator(words.end()));
  return kept;
}

void AskAllToEnd() { AskToEndOnce(Descendants()); }

void AskToEndOnce(const std::vector<pid_t>& processes) {
  for (const pid_t pid : processes) {
    const std::optional<pid_t> parent = ParentOf(pid);
    if (!parent.has_value() || !IsKeeper(*parent)) kill(pid, SIGTERM);
  }
}

}  // namespace dt::program
