// conda.cc: see conda.h.
#include "worker/environments/conda.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/environment_file.h"
#include "common/environment_limits.h"
#include "common/files.h"
#include "common/text.h"
#include "worker/environments/code_file.h"
#include "worker/environments/tools.h"

namespace dt::environments {
namespace {

constexpr char kField[] = "environment.conda";
constexpr char kExplicit[] = "@EXPLICIT";

std::string ProgramName(const Conda& conda) { return std::filesystem::path(conda.path).filename(); }

ToolRun RunOf(const Conda& conda, std::vector<std::string> arguments) {
  ToolRun run{.path = conda.path,
              .arguments = std::move(arguments),
              .environment = conda.environment,
              .folder = conda.scratch};
  // An environment of the worker is not to be changed.
  for (const char* own : {"VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "CONDA_SHLVL",
                          "PYTHONHOME", "PYTHONPATH"}) {
    run.environment.erase(own);
  }
  run.environment["CONDA_PKGS_DIRS"] = conda.cache + "/packages";
  run.environment["MAMBA_ROOT_PREFIX"] = conda.cache + "/mamba";
  run.environment["CONDA_REGISTER_ENVS"] = "false";  // no line in the user's list of environments
  run.environment["NO_COLOR"] = "1";
  return run;
}

// Version 1 of mamba has conda's commands, version 2 has those of micromamba.
bool HasCommandsOfConda(const Conda& conda) {
  const std::string name = ProgramName(conda);
  if (name != "mamba") return name == "conda";
  const absl::StatusOr<std::string> version = Run(RunOf(conda, {"--version"}), "mamba --version");
  return version.ok() && absl::StartsWith(*version, "mamba");
}

// Returns the lines with packages, below the line that makes the list one.
std::string PackagesOf(const std::string& text) {
  std::string lock = absl::StrCat(kExplicit, "\n");
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const absl::string_view bare = absl::StripAsciiWhitespace(line);
    if (absl::StrContains(bare, "://") && bare[0] != '#') absl::StrAppend(&lock, bare, "\n");
  }
  return lock;
}

bool IsExplicit(const std::string& text) {
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  return std::any_of(lines.begin(), lines.end(), [](absl::string_view line) {
    return absl::StripAsciiWhitespace(line) == kExplicit;
  });
}

// An explicit list has no place for packages of pip.
absl::Status RefusePip(const std::string& text, const std::string& file) {
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::string bare = absl::StrReplaceAll(line, {{" ", ""}, {"\t", ""}, {"\r", ""}});
    if (bare != "-pip:") continue;
    return ConfigError(absl::StrCat(kField, ": ", file,
                                    " has packages of pip; name conda's packages alone, or use "
                                    "environment.uv for those of pip"));
  }
  return absl::OkStatus();
}

// The coordinator keeps the URLs, and shows them to everybody who may read. A channel's token is in
// its path: https://host/t/TOKEN/channel.
absl::Status RefuseCredentials(const std::string& lock) {
  for (const absl::string_view line : absl::StrSplit(lock, '\n')) {
    const bool token = absl::StrContains(line, "/t/");
    if (!token && !HasUrlCredentials({line.data(), line.size()})) continue;
    const std::string package(line.substr(line.rfind('/') + 1));
    return ConfigError(absl::StrCat(
        kField, ": the URL of ", Printable(CleanText(package, 200)),
        " holds a user, a password or a token; leave them out: the workers' operator sets them, "
        "such as in a .condarc file"));
  }
  return absl::OkStatus();
}

// Returns the packages that the tool chooses for a file: it makes the environment once, and lists
// it. The downloads stay in the cache.
absl::StatusOr<std::string> Chosen(const std::string& path, const std::string& file,
                                   const Conda& conda) {
  const std::string prefix = conda.scratch + "/chosen";
  DT_RETURN_IF_ERROR(RemoveAll(prefix));
  const bool of_conda = HasCommandsOfConda(conda);
  const std::string what =
      absl::StrCat(ProgramName(conda), " cannot resolve ", Printable(CleanText(file, 200)));
  const ToolRun create =
      of_conda ? RunOf(conda, {"env", "create", "--quiet", "--prefix", prefix, "--file", path})
               : RunOf(conda, {"create", "--yes", "--quiet", "--prefix", prefix, "--file", path});
  DT_RETURN_IF_ERROR(Run(create, what).status());
  const ToolRun list = of_conda ? RunOf(conda, {"list", "--explicit", "--md5", "--prefix", prefix})
                                : RunOf(conda, {"env", "export", "--explicit", "--prefix", prefix});
  DT_ASSIGN_OR_RETURN(std::string text, Run(list, what));
  static_cast<void>(RemoveAll(prefix));
  return text;
}

}  // namespace

absl::StatusOr<std::string> ResolveConda(const Wanted& wanted, const Conda& conda) {
  DT_ASSIGN_OR_RETURN(const std::string path, CodeFile(kField, wanted.code_folder, wanted.conda));
  DT_ASSIGN_OR_RETURN(std::string text, ReadFile(path, kCodeFileBytes));
  if (!IsExplicit(text)) {
    DT_RETURN_IF_ERROR(RefusePip(text, wanted.conda));
    DT_ASSIGN_OR_RETURN(text, Chosen(path, wanted.conda, conda));
  }
  const std::string lock = PackagesOf(text);
  if (!IsUtf8(lock)) return ConfigError(absl::StrCat(kField, ": a package's URL is not UTF-8"));
  if (CondaPackagesIn(lock) == 0) {
    return ConfigError(absl::StrCat(kField, ": ", wanted.conda, " leads to no packages"));
  }
  DT_RETURN_IF_ERROR(RefuseCredentials(lock));
  if (lock.size() <= limits::kEnvironmentLockBytes) return lock;
  return ConfigError(absl::StrCat(kField, ": the exact packages take ", lock.size(),
                                  " bytes; the limit is ", limits::kEnvironmentLockBytes));
}

absl::Status MakeConda(const std::string& lock, const Conda& conda, const std::string& folder,
                       int lock_fd) {
  const std::string list = conda.scratch + "/explicit.txt";
  DT_RETURN_IF_ERROR(WriteFileAtomically(list, lock));
  ToolRun create = RunOf(conda, {"create", "--yes", "--quiet", "--prefix", folder, "--file", list});
  create.lock = lock_fd;
  return Run(create, ProgramName(conda) + " cannot make the environment").status();
}

size_t CondaPackagesIn(const std::string& lock) {
  const std::vector<absl::string_view> lines = absl::StrSplit(lock, '\n');
  return static_cast<size_t>(std::count_if(lines.begin(), lines.end(), [](absl::string_view line) {
    return absl::StrContains(line, "://");
  }));
}

}  // namespace dt::environments
