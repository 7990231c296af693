// tools.cc: see tools.h.
#include "worker/environments/tools.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/environment_limits.h"
#include "common/read_output.h"
#include "common/text.h"

namespace dt::environments {
namespace {

constexpr size_t kOutputBytes = 4 << 20;
constexpr int kLockFd = 3;  // in the tool

std::string ValueOf(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

bool IsProgram(const std::string& path) {
  std::error_code ignored;
  return access(path.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(path, ignored);
}

std::string FirstOf(const std::vector<std::string_view>& names, const Environment& environment) {
  for (const std::string_view name : names) {
    std::string path = FindTool(name, environment);
    if (!path.empty()) return path;
  }
  return "";
}

// A client of docker does nothing without its daemon.
std::string WhyNoImage(const Environment& environment) {
  const std::string path = FindRuntime(environment);
  if (path.empty()) {
    return "no podman, docker or apptainer is installed on its host; install one: apt install "
           "podman catatonit";
  }
  constexpr char kSocket[] = "/var/run/docker.sock";
  const bool docker = std::filesystem::path(path).filename() == "docker";
  if (docker && ValueOf(environment, "DOCKER_HOST").empty() && access(kSocket, R_OK | W_OK) != 0) {
    return absl::StrCat("docker is installed on its host, and this worker's user cannot use ",
                        kSocket, "; start its daemon and add the user to the group docker");
  }
  return "";
}

// A cluster's login shell knows the command; that a host has modules shows in these.
std::string WhyNoModule(const Environment& environment) {
  if (FindTool("bash", environment).empty()) {
    return "bash is not installed on its host, in which modules are loaded";
  }
  for (const char* variable : {"MODULESHOME", "MODULES_CMD", "LMOD_CMD", "LMOD_PKG"}) {
    if (!ValueOf(environment, variable).empty()) return "";
  }
  if (!FindTool("modulecmd", environment).empty()) return "";
  for (const char* file : {"modules.sh", "lmod.sh", "z00_lmod.sh", "z01_lmod.sh"}) {
    if (access((std::string("/etc/profile.d/") + file).c_str(), R_OK) == 0) return "";
  }
  return "its host has no environment modules; install them: apt install environment-modules";
}

// Returns why this host cannot make environments of this kind; "": it can.
std::string WhyMissing(std::string_view kind, const Environment& environment) {
  if (kind == "image") return WhyNoImage(environment);
  if (kind == "module") return WhyNoModule(environment);
  if (kind == "conda") {
    return FindConda(environment).empty()
               ? "no micromamba, mamba or conda is installed on its host; install one in the "
                 "worker's PATH"
               : "";
  }
  return FindTool("uv", environment).empty()
             ? "uv is not installed on its host; install it: pip install uv"
             : "";
}

// Returns whether the words of a tool that failed tell of the host and not of the packages.
bool BlamesHost(std::string_view words) {
  constexpr std::string_view kWords[] = {
      "No space left on device", "Disk quota exceeded", "File too large", "Read-only file system",
      "Input/output error", "Stale file handle", "Cannot allocate memory", "Too many open files",
      "error sending request", "error decoding response body", "HTTP status server error",
      "429 Too Many Requests", "Connection refused", "Connection reset", "dns error", "timed out",
      "Network is unreachable",
      // of Go's programs: podman, docker, apptainer
      "no space left on device", "connection refused", "connection reset", "no such host",
      "i/o timeout", "TLS handshake timeout", "network is unreachable", "unexpected EOF",
      "toomanyrequests", "received unexpected HTTP status: 5",
      "Cannot connect to the Docker daemon", "permission denied while trying to connect",
      // of conda's
      "CondaHTTPError", "Could not resolve host", "Couldn't resolve host",
      "Couldn't connect to server"};
  return std::any_of(std::begin(kWords), std::end(kWords), [words](std::string_view each) {
    return words.find(each) != std::string_view::npos;
  });
}

// Joins the lines of a message, and cuts it to a bound.
std::string OneLine(const std::string& text) {
  std::vector<std::string> parts;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const absl::string_view bare = absl::StripAsciiWhitespace(line);
    if (!bare.empty() && bare != "|" && bare != "×") parts.emplace_back(bare);
  }
  return CleanText(absl::StrJoin(parts, " "), limits::kEnvironmentErrorBytes);
}

}  // namespace

std::string PlatformText() {
  utsname host{};
  uname(&host);
  return absl::StrCat(host.sysname, " ", host.machine);
}

std::string FindTool(std::string_view name, const Environment& environment) {
  std::vector<std::string> folders = absl::StrSplit(ValueOf(environment, "PATH"), ':');
  std::error_code ignored;
  folders.push_back(std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path());
  folders.push_back(ValueOf(environment, "HOME") + "/.local/bin");
  for (const std::string& folder : folders) {
    if (folder.empty() || folder[0] != '/') continue;
    std::string path = absl::StrCat(folder, "/", absl::string_view(name.data(), name.size()));
    if (IsProgram(path)) return path;
  }
  return "";
}

std::string FindRuntime(const Environment& environment) {
  return FirstOf({"podman", "docker", "apptainer", "singularity"}, environment);
}

std::string FindConda(const Environment& environment) {
  return FirstOf({"micromamba", "mamba", "conda"}, environment);
}

absl::Status CheckAllowed(const std::string& allowed) {
  const std::vector<std::string> words = absl::StrSplit(allowed, ',', absl::SkipEmpty());
  for (const std::string& word : words) {
    const bool kind = std::find(std::begin(kKinds), std::end(kKinds), word) != std::end(kKinds);
    if (kind || word == "none") continue;
    return ConfigError(absl::StrCat("--environments names '", Printable(CleanText(word, 64)),
                                    "'; it has none, or some of uv, image, conda, module"));
  }
  return absl::OkStatus();
}

std::vector<std::pair<std::string, std::string>> Abilities(const std::string& allowed,
                                                           const Environment& environment) {
  const std::vector<std::string> words = absl::StrSplit(allowed, ',', absl::SkipEmpty());
  std::vector<std::pair<std::string, std::string>> all;
  for (const std::string_view kind : kKinds) {
    const bool may = words.empty() || std::find(words.begin(), words.end(), kind) != words.end();
    all.emplace_back(kind, may ? WhyMissing(kind, environment)
                               : "its operator does not allow it; add it to dtworker "
                                 "--environments");
  }
  return all;
}

absl::StatusOr<std::string> Run(const ToolRun& tool, std::string_view what) {
  SpawnOptions options;
  options.path = tool.path;
  options.arguments = tool.arguments;
  options.environment = tool.environment;
  options.folder = tool.folder;
  options.life = Life::kOfStarter;
  if (tool.lock >= 0) options.descriptors = {{tool.lock, kLockFd}};
  const ProgramOutput output =
      ReadOutput(options, kOutputBytes, tool.patience, StandardError::kRead);
  if (output.ok) return output.text;
  std::string words = OneLine(output.text);
  if (!output.ended) {
    return IoError(absl::StrCat(absl::string_view(what.data(), what.size()), ": it did not end in ",
                                absl::FormatDuration(tool.patience), ", printed more than ",
                                kOutputBytes, " bytes, or was killed", words.empty() ? "" : "; ",
                                words));
  }
  // A tool that blames the packages says so; one that was killed prints nothing.
  const bool silent = words.empty();
  if (silent) words = "it failed and printed nothing";
  const std::string text = absl::StrCat(absl::string_view(what.data(), what.size()), ": ", words);
  // `words` may be cut before the cause, which comes last.
  return silent || BlamesHost(output.text) ? IoError(text) : ConfigError(text);
}

}  // namespace dt::environments
