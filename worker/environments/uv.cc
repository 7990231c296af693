// uv.cc: see uv.h.
#include "worker/environments/uv.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/environment_file.h"
#include "common/environment_limits.h"
#include "common/files.h"
#include "common/sha256.h"
#include "common/text.h"
#include "worker/environments/code_file.h"
#include "worker/environments/tools.h"

namespace dt::environments {
namespace {

namespace fs = std::filesystem;

enum class Source { kNone, kPackages, kRequirements, kUvLock, kPyLock };

std::string FileName(const Wanted& wanted) {
  return wanted.uv.size() == 1 && IsEnvironmentFile(wanted.uv[0]) ? wanted.uv[0] : "";
}

// The coordinator keeps the packages, and shows them to everybody who may read. uv writes a URL
// with its password.
absl::Status RefuseUrlCredentials(const std::string& pins) {
  for (const absl::string_view line : absl::StrSplit(pins, '\n')) {
    if (!HasUrlCredentials({line.data(), line.size()})) continue;
    const std::string name(absl::StripAsciiWhitespace(line.substr(0, line.find('@'))));
    return ConfigError(absl::StrCat(
        "environment.uv: the URL of ", Printable(CleanText(name, 200)),
        " holds a user or a password; leave them out: the workers' operator sets them, such as in "
        "a .netrc file"));
  }
  return absl::OkStatus();
}

Source SourceOf(const Wanted& wanted) {
  if (wanted.uv.empty()) return Source::kNone;
  const std::string file = fs::path(FileName(wanted)).filename();
  if (file.empty()) return Source::kPackages;
  if (file == "uv.lock") return Source::kUvLock;
  const bool pylock = absl::StartsWith(file, "pylock.") && absl::EndsWith(file, ".toml");
  return pylock ? Source::kPyLock : Source::kRequirements;
}

// Returns the file's path. Errors: ConfigError if it is not there, or cannot be read.
absl::StatusOr<std::string> PathOf(const Wanted& wanted) {
  constexpr char kField[] = "environment.uv";
  DT_ASSIGN_OR_RETURN(const std::string path,
                      CodeFile(kField, wanted.code_folder, FileName(wanted)));
  if (SourceOf(wanted) != Source::kUvLock) return path;
  const std::string project = fs::path(path).parent_path() / "pyproject.toml";
  if (access(project.c_str(), R_OK) != 0) {
    return ConfigError(absl::StrCat(kField, ": ", FileName(wanted),
                                    " has no pyproject.toml beside it in the folder of code; uv "
                                    "needs both"));
  }
  DT_RETURN_IF_ERROR(CheckCodeFile(kField, project, "pyproject.toml"));
  return path;
}

ToolRun RunOf(const Uv& uv, const std::string& folder) {
  ToolRun run{.path = uv.path, .arguments = {}, .environment = uv.environment, .folder = folder};
  // A virtual environment of the worker is not to be changed.
  for (const char* own : {"VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONHOME", "PYTHONPATH"}) {
    run.environment.erase(own);
  }
  run.environment["UV_CACHE_DIR"] = uv.cache;
  run.environment["UV_NO_PROGRESS"] = "1";
  run.environment["NO_COLOR"] = "1";
  return run;
}

// Reads names and versions of a pylock.toml (PEP 751), for people: uv follows the file itself. A
// package that is a folder becomes ./NAME.
std::string PinsOfPyLock(const std::string& text) {
  std::string pins, name;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    absl::string_view rest = line;
    if (line == "[[packages]]") name.clear();
    if (absl::StartsWith(line, "directory") || absl::StartsWith(line, "[packages.directory")) {
      absl::StrAppend(&pins, "./", name, "\n");
    }
    if (absl::ConsumePrefix(&rest, "name = \"")) {
      name = std::string(rest.substr(0, rest.find('"')));
    } else if (absl::ConsumePrefix(&rest, "version = \"") && !name.empty()) {
      absl::StrAppend(&pins, name, "==", rest.substr(0, rest.find('"')), "\n");
      name.clear();
    }
  }
  return pins;
}

// Accepts "--find-links wheels", and not a URL or a folder that all hosts have.
bool IsRelativeFindLinks(absl::string_view line) {
  return absl::ConsumePrefix(&line, "--find-links ") && !absl::StartsWith(line, "/") &&
         !absl::StrContains(line, "://");
}

// Accepts an option that names an index with a user or a password. Ignores a reference to a
// variable of the worker, as in "https://${TOKEN}@host".
bool HasCredentials(absl::string_view line) {
  const size_t scheme = line.find("://");
  if (!absl::StartsWith(line, "--") || scheme == absl::string_view::npos) return false;
  const absl::string_view rest = line.substr(scheme + 3);
  const absl::string_view host = rest.substr(0, rest.find_first_of("/?#"));
  const absl::string_view user = host.substr(0, host.rfind('@') + 1);
  return !user.empty() && !absl::StrContains(user, "${");
}

// The coordinator keeps the packages and their indexes, and shows them to others.
absl::Status RefuseCredentials(const std::string& pins, const Wanted& wanted) {
  for (const absl::string_view line : absl::StrSplit(pins, '\n')) {
    if (!HasCredentials(line)) continue;
    return ConfigError(absl::StrCat("environment.uv: an index in ", FileName(wanted),
                                    " holds a user or a password; leave them out: the workers' "
                                    "operator sets them, such as in a .netrc file"));
  }
  return absl::OkStatus();
}

// Environments are shared by trials, and a folder of code belongs to one attempt.
absl::Status RefuseFolders(const std::string& pins, const Wanted& wanted) {
  for (const absl::string_view line : absl::StrSplit(pins, '\n')) {
    const bool folder =
        absl::StartsWith(line, "-e ") || absl::StartsWith(line, ".") ||
        absl::StartsWith(line, "/") || IsRelativeFindLinks(line) ||
        (!wanted.code_folder.empty() && absl::StrContains(line, "file://" + wanted.code_folder));
    if (!folder) continue;
    return ConfigError(absl::StrCat(
        "environment.uv: '", Printable(CleanText(std::string(line), 200)),
        "' is a folder; an environment holds packages of an index alone, since trials share it. "
        "The program finds its own modules in its folder: remove that line"));
  }
  return absl::OkStatus();
}

// Makes an environment without packages. uv names a Python that it does not find.
absl::Status MakeEmpty(const Wanted& wanted, const Uv& uv, const std::string& folder, int lock_fd) {
  ToolRun run = RunOf(uv, uv.scratch);
  run.lock = lock_fd;
  run.arguments = {"venv", "--quiet", "--no-project", "--no-config"};
  if (!wanted.python.empty())
    run.arguments.insert(run.arguments.end(), {"--python", wanted.python});
  run.arguments.push_back(folder);
  return Run(run, "uv cannot make the environment").status();
}

// Returns the lines of `text` that are not in `others`, without empty ones.
std::string WithoutLines(const std::string& text, const std::string& others) {
  const std::vector<absl::string_view> left_out = absl::StrSplit(others, '\n');
  std::string kept;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const bool out = std::find(left_out.begin(), left_out.end(), line) != left_out.end();
    if (!out) absl::StrAppend(&kept, line, "\n");
  }
  return kept;
}

// Returns the exact packages of the file `input`, below options with all indexes that uv uses.
absl::StatusOr<std::string> Compile(ToolRun run, const std::string& input,
                                    const std::string& output, const std::string& what) {
  run.arguments.insert(run.arguments.end(), {"-o", output, input});
  DT_RETURN_IF_ERROR(Run(run, what).status());
  return ReadFile(output, kCodeFileBytes);
}

// Returns the exact packages, below options with the indexes that the file adds to the worker's.
// Without them, uv would not find the packages again, or would find others of the same version.
absl::StatusOr<std::string> Compiled(const Wanted& wanted, const Uv& uv) {
  std::string input = uv.scratch + "/requirements.in";
  std::string what = "uv cannot resolve environment.uv";
  if (SourceOf(wanted) == Source::kRequirements) {
    DT_ASSIGN_OR_RETURN(input, PathOf(wanted));
    what = absl::StrCat("uv cannot resolve ", FileName(wanted));
  } else {
    DT_RETURN_IF_ERROR(WriteFileAtomically(input, absl::StrJoin(wanted.uv, "\n") + "\n"));
  }
  ToolRun run = RunOf(uv, uv.scratch);
  run.arguments = {"pip",           "compile",          "--quiet",          "--no-header",
                   "--no-annotate", "--emit-index-url", "--emit-find-links"};
  // The version that the environment will have, so that the packages suit it.
  const std::string empty = uv.scratch + "/empty";
  DT_RETURN_IF_ERROR(RemoveAll(empty));
  DT_RETURN_IF_ERROR(MakeEmpty(wanted, uv, empty, -1));
  run.arguments.insert(run.arguments.end(), {"--python", empty + "/bin/python"});
  if (!wanted.index.empty()) {
    run.arguments.insert(run.arguments.end(), {"--default-index", wanted.index});
  }
  const std::string nothing = uv.scratch + "/nothing.in";
  DT_RETURN_IF_ERROR(WriteFileAtomically(nothing, ""));
  DT_ASSIGN_OR_RETURN(const std::string own, Compile(run, nothing, uv.scratch + "/own.txt", what));
  run.folder = fs::path(input).parent_path();
  DT_ASSIGN_OR_RETURN(const std::string pins,
                      Compile(run, input, uv.scratch + "/requirements.txt", what));
  return WithoutLines(pins, own);
}

absl::StatusOr<std::string> Exported(const Wanted& wanted, const Uv& uv) {
  DT_ASSIGN_OR_RETURN(const std::string path, PathOf(wanted));
  const std::string output = uv.scratch + "/requirements.txt";
  ToolRun run = RunOf(uv, fs::path(path).parent_path());
  run.arguments = {"export",        "--quiet",           "--frozen", "--no-hashes", "--no-header",
                   "--no-annotate", "--no-emit-project", "-o",       output};
  DT_RETURN_IF_ERROR(Run(run, absl::StrCat("uv cannot read ", FileName(wanted))).status());
  return ReadFile(output, kCodeFileBytes);
}

absl::StatusOr<std::string> PinsOf(const Wanted& wanted, const Uv& uv) {
  switch (SourceOf(wanted)) {
    case Source::kNone:
      return "";
    case Source::kUvLock:
      return Exported(wanted, uv);
    case Source::kPyLock: {
      DT_ASSIGN_OR_RETURN(const std::string path, PathOf(wanted));
      DT_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kCodeFileBytes));
      return PinsOfPyLock(text);
    }
    case Source::kPackages:
    case Source::kRequirements:
      return Compiled(wanted, uv);
  }
  return "";
}

}  // namespace

size_t PackagesIn(const std::string& lock) {
  const std::vector<absl::string_view> lines = absl::StrSplit(lock, '\n');
  return static_cast<size_t>(std::count_if(lines.begin(), lines.end(), [](absl::string_view line) {
    return !line.empty() && line[0] != '#' && line[0] != ' ' && line[0] != '-';
  }));
}

absl::StatusOr<std::string> Resolve(const Wanted& wanted, const Uv& uv) {
  DT_ASSIGN_OR_RETURN(const std::string pins, PinsOf(wanted, uv));
  DT_RETURN_IF_ERROR(RefuseFolders(pins, wanted));
  DT_RETURN_IF_ERROR(RefuseCredentials(pins, wanted));
  const std::string lock =
      absl::StrCat("# python: ", wanted.python.empty() ? "any" : wanted.python, "\n", pins);
  // The answer is JSON, which cannot hold other bytes, and would grow beyond the limit without them.
  if (!IsUtf8(lock)) return ConfigError("environment.uv: the name of a package is not UTF-8");
  DT_RETURN_IF_ERROR(RefuseUrlCredentials(lock));
  if (lock.size() <= limits::kEnvironmentLockBytes) return lock;
  return ConfigError(absl::StrCat("environment.uv: the exact packages take ", lock.size(),
                                  " bytes; the limit is ", limits::kEnvironmentLockBytes));
}

absl::Status Make(const Wanted& wanted, const std::string& lock, const Uv& uv,
                  const std::string& folder, int lock_fd) {
  DT_RETURN_IF_ERROR(MakeEmpty(wanted, uv, folder, lock_fd));
  const Source source = SourceOf(wanted);
  const bool file_is_lock = source == Source::kUvLock || source == Source::kPyLock;
  if (!file_is_lock && PackagesIn(lock) == 0) return absl::OkStatus();
  const std::string python = folder + "/bin/python";
  ToolRun install = RunOf(uv, uv.scratch);
  install.lock = lock_fd;
  switch (source) {
    case Source::kUvLock: {
      DT_ASSIGN_OR_RETURN(const std::string path, PathOf(wanted));
      install.folder = fs::path(path).parent_path();
      install.environment["UV_PROJECT_ENVIRONMENT"] = folder;
      install.arguments = {"sync",     "--quiet", "--frozen", "--no-install-project",
                           "--python", python};
      break;
    }
    case Source::kPyLock: {
      DT_ASSIGN_OR_RETURN(const std::string path, PathOf(wanted));
      install.arguments = {"pip", "install", "--quiet", "--python", python, "-r", path};
      break;
    }
    case Source::kNone:
    case Source::kPackages:
    case Source::kRequirements: {
      const std::string pins = uv.scratch + "/exact.txt";
      DT_RETURN_IF_ERROR(WriteFileAtomically(pins, lock));
      install.arguments = {"pip", "sync", "--quiet", "--python", python, pins};
      if (source == Source::kRequirements) {  // its folder may have a uv.toml
        DT_ASSIGN_OR_RETURN(const std::string path, PathOf(wanted));
        install.folder = fs::path(path).parent_path();
      }
      if (!wanted.index.empty()) {
        install.arguments.insert(install.arguments.end(), {"--default-index", wanted.index});
      }
    }
  }
  return Run(install, "uv cannot install the packages").status();
}

absl::StatusOr<std::string> NameOf(const Wanted& wanted, const std::string& lock) {
  std::string text = absl::StrCat("1\n", PlatformText(), "\n", wanted.python, "\n", wanted.index,
                                  "\n", lock, "\n");
  const Source source = SourceOf(wanted);
  if (source == Source::kUvLock || source == Source::kPyLock) {
    DT_ASSIGN_OR_RETURN(const std::string path, PathOf(wanted));
    DT_ASSIGN_OR_RETURN(const std::string file, ReadFile(path, kCodeFileBytes));
    absl::StrAppend(&text, Sha256Hex(file));
  }
  if (source == Source::kUvLock) {  // it names groups and sources too
    DT_ASSIGN_OR_RETURN(const std::string path, PathOf(wanted));
    DT_ASSIGN_OR_RETURN(const std::string file,
                        ReadFile(fs::path(path).parent_path() / "pyproject.toml", kCodeFileBytes));
    absl::StrAppend(&text, Sha256Hex(file));
  }
  return Sha256Hex(text).substr(0, 32);
}

}  // namespace dt::environments
