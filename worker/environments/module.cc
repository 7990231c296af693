// module.cc: see module.h.
#include "worker/environments/module.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/files.h"
#include "common/limits.h"
#include "common/text.h"
#include "worker/environments/tools.h"

namespace dt::environments {
namespace {

// A module on a busy file system of a cluster takes seconds.
constexpr absl::Duration kModulePatience = absl::Minutes(10);
constexpr uint64_t kVariablesBytes = 4 << 20;
constexpr uint64_t kWhyBytes = 64 << 10;

// Version 3 of Environment Modules returns 0 although it did not load a module. The shell's output
// is that of its startup files too, so the reason has a file of its own. The shell runs the code
// that a module prints, which may end it: then `left` has the module's name.
constexpr char kScript[] = R"(
folder=$1
shift
if ! type module >/dev/null 2>&1; then
  echo 'the login shell of this host has no command module' >"$folder/why"
  exit 1
fi
command -p env -0 >"$folder/before" || exit 1
trap 'printf %s "$name" >"$folder/left"' EXIT
for name do
  if module load "$name" 2>"$folder/words" && ! grep -q ':ERROR:' "$folder/words"; then
    continue
  fi
  { printf 'module %s does not load: ' "$name"; cat "$folder/words"; } >"$folder/why"
  exit 1
done
trap - EXIT
command -p env -0 >"$folder/after"
)";

Environment VariablesIn(const std::string& text) {
  Environment variables;
  for (const absl::string_view entry : absl::StrSplit(text, '\0', absl::SkipEmpty())) {
    const size_t equals = entry.find('=');
    if (equals == absl::string_view::npos) continue;
    variables[std::string(entry.substr(0, equals))] = std::string(entry.substr(equals + 1));
  }
  // The shell's own state.
  for (const char* own : {"_", "SHLVL", "PWD", "OLDPWD"}) variables.erase(own);
  return variables;
}

std::string ValueIn(const Environment& variables, const std::string& name) {
  const auto found = variables.find(name);
  return found == variables.end() ? "" : found->second;
}

// Returns the new value of a variable that `loaded` changed.
std::string Merged(const std::string& own, const std::string& before, const std::string& after) {
  if (own.empty() || before.empty()) return after;
  const std::vector<std::string> old = absl::StrSplit(before, ':');
  std::vector<std::string> in_front, behind;
  bool passed = false;  // the shell's first folder
  for (const std::string& folder : std::vector<std::string>(absl::StrSplit(after, ':'))) {
    if (std::find(old.begin(), old.end(), folder) != old.end()) {
      passed = true;
    } else {
      (passed ? behind : in_front).push_back(folder);
    }
  }
  if (!passed) return after;  // no list: a value was replaced
  in_front.push_back(own);
  in_front.insert(in_front.end(), behind.begin(), behind.end());
  return absl::StrJoin(in_front, ":");
}

}  // namespace

absl::StatusOr<Loaded> LoadModules(const std::vector<std::string>& modules,
                                   const std::string& scratch, const Environment& variables) {
  const std::string folder = scratch + "/modules";
  DT_RETURN_IF_ERROR(RemoveAll(folder));
  DT_RETURN_IF_ERROR(MakeFolders(folder));
  ToolRun shell{.path = FindTool("bash", variables),
                .arguments = {"-lc", kScript, "bash", folder},
                .environment = variables,
                .folder = folder,
                .patience = kModulePatience};
  if (shell.path.empty()) return IoError("bash is not installed on this host any more");
  shell.arguments.insert(shell.arguments.end(), modules.begin(), modules.end());
  const absl::StatusOr<std::string> ran = Run(shell, "the login shell cannot load modules");
  const absl::StatusOr<std::string> why = ReadFile(folder + "/why", kWhyBytes);
  if (why.ok()) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(*why, absl::ByAnyChar(" \n\t"), absl::SkipEmpty());
    return ConfigError(
        absl::StrCat("environment.module: ",
                     CleanText(absl::StrJoin(words, " "), limits::kEnvironmentErrorBytes)));
  }
  const absl::StatusOr<std::string> left = ReadFile(folder + "/left", kWhyBytes);
  if (left.ok() && !left->empty()) {
    return ConfigError(absl::StrCat(
        "environment.module: module ", Printable(CleanText(*left, limits::kCodePathBytes)),
        " ends the login shell that loads it, as exit does; remove that from the module, or load "
        "another one"));
  }
  if (!ran.ok()) return IoError(std::string(ran.status().message()));
  const absl::StatusOr<std::string> before = ReadFile(folder + "/before", kVariablesBytes);
  const absl::StatusOr<std::string> after = ReadFile(folder + "/after", kVariablesBytes);
  if (!before.ok() || !after.ok()) {
    return IoError(
        "the login shell of this host ended before it had loaded the modules; its startup files "
        "must not leave it");
  }
  return Loaded{VariablesIn(*before), VariablesIn(*after)};
}

Environment WithModules(Environment inherited, const Loaded& loaded) {
  for (const auto& [name, value] : loaded.after) {
    const std::string before = ValueIn(loaded.before, name);
    if (loaded.before.contains(name) && before == value) continue;
    inherited[name] = Merged(ValueIn(inherited, name), before, value);
  }
  for (const auto& [name, value] : loaded.before) {
    if (!loaded.after.contains(name)) inherited.erase(name);
  }
  return inherited;
}

}  // namespace dt::environments
