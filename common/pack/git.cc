// git.cc: starts one short-lived process for each question.
#include "common/pack/git.h"

#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/files.h"
#include "common/limits.h"
#include "common/read_output.h"
#include "common/spawn.h"
#include "common/text.h"

namespace dt::pack {
namespace {

// Room for the paths of one file more than allowed: a longer list is refused for its number of
// files.
constexpr size_t kListBytes = limits::kCodeFiles * (limits::kCodePathBytes + 1) + 1;

std::string FindGit() {
  const char* path = std::getenv("PATH");
  for (const absl::string_view folder : absl::StrSplit(path == nullptr ? "" : path, ':')) {
    std::string program = absl::StrCat(folder, "/git");
    if (!folder.empty() && access(program.c_str(), X_OK) == 0) return program;
  }
  return "";
}

// Drops variables that a hook of git sets, which would point to another work tree.
Environment CleanEnvironment() {
  Environment clean = EnvironmentWith({{"LC_ALL", "C"}, {"GIT_OPTIONAL_LOCKS", "0"}});
  for (const char* other : {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX",
                            "GIT_EXTERNAL_DIFF", "GIT_DIFF_OPTS"}) {
    clean.erase(other);
  }
  return clean;
}

ProgramOutput AskGit(const std::string& folder, std::vector<std::string> words, size_t bytes_max) {
  SpawnOptions options;
  options.path = FindGit();
  if (options.path.empty()) return {};
  options.arguments = {"-C", folder, "--no-pager"};
  options.arguments.insert(options.arguments.end(), words.begin(), words.end());
  options.environment = CleanEnvironment();
  return ReadOutput(std::move(options), bytes_max, limits::kCallDeadline);
}

std::optional<std::vector<std::string>> FilesIn(const ProgramOutput& listed) {
  if (!listed.ok && listed.text.size() < kListBytes) return std::nullopt;
  std::vector<std::string> files;
  for (const absl::string_view path : absl::StrSplit(listed.text, '\0', absl::SkipEmpty())) {
    files.emplace_back(path);
  }
  return files;
}

}  // namespace

std::optional<std::vector<std::string>> ListByGit(const std::string& folder) {
  return FilesIn(
      AskGit(folder, {"ls-files", "--cached", "--others", "--exclude-standard", "-z"}, kListBytes));
}

// git lists what it would track of a work tree, so that it gets a repository for the question.
std::optional<std::vector<std::string>> ListNotIgnored(const std::string& folder) {
  const char* place = std::getenv("TMPDIR");
  std::string empty =
      absl::StrCat(place == nullptr || *place == '\0' ? "/tmp" : place, "/dtrain-git-XXXXXX");
  if (mkdtemp(empty.data()) == nullptr) return std::nullopt;
  std::optional<std::vector<std::string>> files;
  if (AskGit(folder, {"init", "--quiet", "--bare", "--template=", empty}, kListBytes).ok) {
    files = FilesIn(AskGit(folder,
                           {absl::StrCat("--git-dir=", empty), "--work-tree=.", "ls-files",
                            "--others", "--exclude-standard", "-z"},
                           kListBytes));
  }
  RemoveAll(empty).IgnoreError();
  return files;
}

std::string RevisionOf(const std::string& folder) {
  const ProgramOutput found = AskGit(folder, {"rev-parse", "--verify", "HEAD"}, limits::kNameBytes);
  if (!found.ok) return "";
  return CleanText(found.text.substr(0, found.text.find('\n')), limits::kNameBytes);
}

std::string ChangesIn(const std::string& folder) {
  const ProgramOutput files =
      AskGit(folder, {"status", "--porcelain", "--", "."}, limits::kCodeChangesBytes);
  const ProgramOutput lines = AskGit(folder, {"diff", "--no-ext-diff", "--stat", "HEAD", "--", "."},
                                     limits::kCodeChangesBytes);
  return CleanText(absl::StrCat(files.text, lines.text), limits::kCodeChangesBytes);
}

}  // namespace dt::pack
