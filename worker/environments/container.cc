// container.cc: see container.h.
#include "worker/environments/container.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/text.h"

namespace dt::environments {
namespace {

using Words = std::vector<std::string>;

// A container's PATH if neither its image nor its trial has one.
constexpr char kUsualPath[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
// Each costs a call of the runtime.
constexpr size_t kPathFoldersMost = 32;

void Add(Words& words, Words more) {
  words.insert(words.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
}

// Returns one field of a mount; a comma or a quotation mark in a path needs quotation marks.
std::string Field(const std::string& name, const std::string& path) {
  std::string field = absl::StrCat(name, "=", path);
  if (path.find_first_of(",\"") == std::string::npos) return field;
  return absl::StrCat("\"", absl::StrReplaceAll(field, {{"\"", "\"\""}}), "\"");
}

absl::StatusOr<std::string> MountWord(const Mount& mount) {
  const std::string& path = mount.folder;
  if (path.empty() || path[0] != '/' ||
      std::any_of(path.begin(), path.end(), absl::ascii_iscntrl)) {
    return ConfigError(absl::StrCat(
        "the folder '", Printable(CleanText(path, 200)),
        "' cannot be mounted in a container; give an absolute path without line ends"));
  }
  return absl::StrCat("type=bind,", Field("source", path), ",", Field("destination", path),
                      mount.writable ? "" : ",readonly");
}

bool IsName(std::string_view name) {
  return !name.empty() && !absl::ascii_isdigit(name[0]) &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return absl::ascii_isalnum(c) || c == '_'; });
}

// Accepts a variable that podman's and docker's files of variables hold as it is, in all versions:
// some take quotation marks away.
bool FitsFile(const std::string& name, const std::string& value) {
  return IsName(name) && value.find_first_of("\"'\\`#$") == std::string::npos &&
         (value.empty() || (value.front() != ' ' && value.back() != ' ')) &&
         std::none_of(value.begin(), value.end(), absl::ascii_iscntrl);
}

// A device by its UUID keeps its meaning in CUDA_VISIBLE_DEVICES, whatever its number is inside.
void AddGpus(const ContainerRun& run, Runtime runtime, Words& words) {
  if (!run.cuda) return;
  switch (runtime) {
    case Runtime::kPodman:
      if (run.gpus.empty()) words.emplace_back("--device=nvidia.com/gpu=all");
      for (const std::string& gpu : run.gpus) words.push_back("--device=nvidia.com/gpu=" + gpu);
      return;
    case Runtime::kDocker:  // it takes the commas for those between options, but for the quotes
      words.push_back(run.gpus.empty()
                          ? "--gpus=all"
                          : absl::StrCat("--gpus=\"device=", absl::StrJoin(run.gpus, ","), "\""));
      return;
    case Runtime::kApptainer:
      words.emplace_back("--nv");
  }
}

// The hosts' network and shared memory are those of the gang: ranks meet there.
absl::StatusOr<Words> ContainerWords(const ContainerRun& run, Runtime runtime) {
  Words words = {"run",
                 "--name=" + run.name,
                 "--pull=never",
                 "--init",
                 "--network=host",
                 "--ipc=host",
                 "--log-driver=none",
                 "--security-opt=label=disable"};
  const bool rootless_podman = runtime == Runtime::kPodman && run.user != 0;
  words.push_back(rootless_podman ? "--userns=keep-id"
                                  : absl::StrCat("--user=", run.user, ":", run.group));
  if (KeepsReportFd(runtime)) words.emplace_back("--preserve-fds=1");
  AddGpus(run, runtime, words);
  for (const Mount& mount : run.mounts) {
    DT_ASSIGN_OR_RETURN(const std::string word, MountWord(mount));
    words.push_back("--mount=" + word);
  }
  words.push_back("--workdir=" + run.folder);
  words.push_back("--env-file=" + run.variables_file);
  for (const auto& [name, value] : run.variables) {
    if (!FitsFile(name, value)) words.push_back(absl::StrCat("--env=", name, "=", value));
  }
  words.push_back("--entrypoint=" + run.words[0]);
  words.push_back(run.image.reference);
  words.insert(words.end(), run.words.begin() + 1, run.words.end());
  return words;
}

absl::StatusOr<Words> ApptainerWords(const ContainerRun& run) {
  Words words = {"--quiet", "exec", "--cleanenv", "--no-home"};
  AddGpus(run, Runtime::kApptainer, words);
  for (const Mount& mount : run.mounts) {
    DT_ASSIGN_OR_RETURN(const std::string word, MountWord(mount));
    Add(words, {"--mount", word});
  }
  Add(words, {"--pwd", run.folder, run.image.reference});
  Add(words, run.words);
  return words;
}

}  // namespace

bool KeepsReportFd(Runtime runtime) { return runtime == Runtime::kPodman; }

absl::StatusOr<Words> RunArguments(const ContainerRun& run) {
  const Runtime runtime = RuntimeAt(run.image.path);
  return runtime == Runtime::kApptainer ? ApptainerWords(run) : ContainerWords(run, runtime);
}

std::string FileOf(const Environment& variables) {
  std::string text;
  for (const auto& [name, value] : variables) {
    if (FitsFile(name, value)) absl::StrAppend(&text, name, "=", value, "\n");
  }
  return text;
}

Environment RuntimeVariables(const ContainerRun& run, Environment tools) {
  if (RuntimeAt(run.image.path) != Runtime::kApptainer) return tools;
  for (const auto& [name, value] : run.variables) {
    tools[absl::StrCat("APPTAINERENV_", name)] = value;
    tools[absl::StrCat("SINGULARITYENV_", name)] = value;
  }
  return tools;
}

Words RemoveArguments(Runtime runtime, const std::string& name) {
  switch (runtime) {
    case Runtime::kPodman:
      return {"rm", "--force", "--volumes", "--time=0", "--ignore", name};
    case Runtime::kDocker:
      return {"rm", "--force", "--volumes", name};
    case Runtime::kApptainer:
      break;
  }
  return {};
}

Words LookArguments(Runtime runtime, const std::string& name) {
  if (runtime == Runtime::kApptainer) return {};
  constexpr char kForm[] =
      "started={{.State.StartedAt}} running={{.State.Running}} oom={{.State.OOMKilled}}"
      "{{range .Config.Env}}{{println}}env {{.}}{{end}}";
  return {"container", "inspect", "--format", kForm, name};
}

Words ProcessesArguments(Runtime runtime, const std::string& name) {
  if (runtime != Runtime::kDocker) return {};  // the others' processes are below this process
  return {"top", name, "-eo", "pid"};
}

Words CopyArguments(const std::string& name, const std::string& file) {
  return {"cp", absl::StrCat(name, ":", file), "-"};
}

ContainerEnd ReadContainerEnd(const std::string& text) {
  ContainerEnd end;
  end.path = kUsualPath;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::ConsumePrefix(&line, "env PATH=")) end.path = std::string(line);
    if (end.known || !absl::StartsWith(line, "started=")) continue;  // a warning of the runtime
    end.known = true;
    end.started = !absl::StartsWith(line, "started=0001");  // year 1 stands for no time
    end.running = absl::StrContains(line, " running=true");
    end.oom = absl::StrContains(line, " oom=true");
  }
  // Docker writes "No such container", podman "no such container".
  end.gone = !end.known && absl::StrContains(absl::AsciiStrToLower(text), "no such container");
  return end;
}

// Podman writes '"/x" could not be found on container NAME: no such file or directory', docker
// 'Could not find the file /x in container NAME'.
Presence ReadPresence(bool copied, const std::string& words) {
  if (copied) return Presence::kThere;
  for (const char* absent : {"could not be found on container", "Could not find the file"}) {
    if (absl::StrContains(words, absent)) return Presence::kAbsent;
  }
  return Presence::kUnknown;
}

std::vector<std::string> FilesOfWord(const std::string& word, const std::string& path,
                                     const std::string& folder) {
  if (absl::StrContains(word, '/'))
    return {word[0] == '/' ? word : absl::StrCat(folder, "/", word)};
  std::vector<std::string> files;
  for (const absl::string_view each : absl::StrSplit(path, ':')) {
    files.push_back(each.empty() || each[0] != '/' ? absl::StrCat(folder, "/", each, "/", word)
                                                   : absl::StrCat(each, "/", word));
  }
  if (files.size() > kPathFoldersMost) files.clear();
  return files;
}

}  // namespace dt::environments
