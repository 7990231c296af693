// git.cc: starts one short-lived process for each question.
#include "common/pack/git.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/clock.h"
#include "common/files.h"
#include "common/limits.h"
#include "common/spawn.h"
#include "common/text.h"
#include "common/unique_fd.h"

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

// Reads until the end, `bytes_max` or the deadline.
std::string ReadSome(int fd, size_t bytes_max) {
  const SystemClock clock;
  const absl::Duration until = clock.Now().steady + limits::kCallDeadline;
  std::string text;
  char chunk[65536];
  while (text.size() < bytes_max) {
    const absl::Duration left = until - clock.Now().steady;
    pollfd readable = {fd, POLLIN, 0};
    const int ready = poll(&readable, 1, static_cast<int>(absl::ToInt64Milliseconds(left)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) break;
    const ssize_t got = read(fd, chunk, sizeof(chunk));
    if (got <= 0) break;
    text.append(chunk, static_cast<size_t>(got));
  }
  if (text.size() > bytes_max) text.resize(bytes_max);
  return text;
}

struct Answer {
  bool ok = false;  // it ended by itself, with status 0
  std::string text;
};

Answer AskGit(const std::string& folder, std::vector<std::string> words, size_t bytes_max) {
  Answer answer;
  const std::string program = FindGit();
  int ends[2];
  const UniqueFd null(open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (program.empty() || !null.valid() || pipe2(ends, O_CLOEXEC) != 0) return answer;
  const UniqueFd out(ends[0]);
  UniqueFd in(ends[1]);
  SpawnOptions options;
  options.path = program;
  options.arguments = {"-C", folder, "--no-pager"};
  options.arguments.insert(options.arguments.end(), words.begin(), words.end());
  options.environment = CleanEnvironment();
  options.descriptors = {{in.get(), STDOUT_FILENO}, {null.get(), STDERR_FILENO}};
  const auto pid = Spawn(options);
  in = UniqueFd();
  if (!pid.ok()) return answer;
  answer.text = ReadSome(out.get(), bytes_max);
  // A git that prints too much, or hangs, is of no use; killing one that has ended does no harm.
  char more = 0;
  pollfd end = {out.get(), POLLIN, 0};
  const bool ended = poll(&end, 1, 0) == 1 && read(out.get(), &more, 1) == 0;
  if (!ended) kill(*pid, SIGKILL);
  int status = 0;
  while (waitpid(*pid, &status, 0) < 0 && errno == EINTR) {
  }
  answer.ok = ended && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return answer;
}

std::optional<std::vector<std::string>> FilesIn(const Answer& listed) {
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
  const Answer found = AskGit(folder, {"rev-parse", "--verify", "HEAD"}, limits::kNameBytes);
  if (!found.ok) return "";
  return CleanText(found.text.substr(0, found.text.find('\n')), limits::kNameBytes);
}

std::string ChangesIn(const std::string& folder) {
  const Answer files =
      AskGit(folder, {"status", "--porcelain", "--", "."}, limits::kCodeChangesBytes);
  const Answer lines = AskGit(folder, {"diff", "--no-ext-diff", "--stat", "HEAD", "--", "."},
                              limits::kCodeChangesBytes);
  return CleanText(absl::StrCat(files.text, lines.text), limits::kCodeChangesBytes);
}

}  // namespace dt::pack
