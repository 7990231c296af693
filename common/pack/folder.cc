// folder.cc: lists, reads and writes; opens every path part by part, and never through a link.
#include "common/pack/folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/files.h"
#include "common/limits.h"
#include "common/pack/git.h"
#include "common/pack/pack.h"
#include "common/pack/pattern.h"
#include "common/sha256.h"
#include "common/status.h"
#include "common/text.h"
#include "common/unique_fd.h"
#include "common/view.h"

namespace dt::pack {
namespace {

namespace fs = std::filesystem;

// Folders left out where git is not asked, and within a folder that git does not list by file.
constexpr std::array kLeftOut = {
    ".git",        ".hg",         ".svn",          "__pycache__",
    ".venv",       "venv",        "node_modules",  ".ipynb_checkpoints",
    ".mypy_cache", ".ruff_cache", ".pytest_cache", ".tox"};

// Files that mark a folder as an environment of Python, whatever its name: venv, conda.
constexpr std::array<std::string_view, 2> kMarksOfEnvironment = {"pyvenv.cfg",
                                                                 "conda-meta/history"};

bool IsEnvironment(const fs::path& folder) {
  return std::any_of(kMarksOfEnvironment.begin(), kMarksOfEnvironment.end(),
                     [&folder](std::string_view mark) {
                       std::error_code code;
                       return fs::exists(folder / mark, code);
                     });
}

// Removes the files of environments: their links lead out of the folder, and they belong to this
// host.
void LeaveOutEnvironments(std::vector<std::string>& files) {
  std::vector<std::string> folders;
  for (const std::string& path : files) {
    for (const std::string_view mark : kMarksOfEnvironment) {
      if (path.size() <= mark.size() || !path.ends_with(mark)) continue;
      const std::string folder = path.substr(0, path.size() - mark.size());
      if (folder.back() == '/') folders.push_back(folder);
    }
  }
  std::erase_if(files, [&folders](const std::string& path) {
    return std::any_of(folders.begin(), folders.end(),
                       [&path](const std::string& folder) { return path.starts_with(folder); });
  });
}

// Lists the files under `below`, relative to `folder`; stops one file beyond the limit.
absl::Status ListAll(const std::string& folder, const std::string& below,
                     std::vector<std::string>& files) {
  const std::string start = below.empty() ? folder : folder + "/" + below;
  std::error_code code;
  fs::recursive_directory_iterator entry(start, code);
  for (; !code && entry != fs::recursive_directory_iterator(); entry.increment(code)) {
    const std::string name = entry->path().filename().string();
    const bool is_folder = entry->symlink_status(code).type() == fs::file_type::directory;
    if (std::find(kLeftOut.begin(), kLeftOut.end(), name) != kLeftOut.end() ||
        (is_folder && IsEnvironment(entry->path()))) {
      if (is_folder) entry.disable_recursion_pending();
      continue;
    }
    if (is_folder) continue;
    files.push_back(entry->path().lexically_relative(folder).string());
    if (files.size() > limits::kCodeFiles) return absl::OkStatus();
  }
  if (!code) return absl::OkStatus();
  return DataError(absl::StrCat("cannot list the folder '", start, "': ", code.message()));
}

struct Listed {
  std::vector<std::string> files;
  bool by_git = false;
};

// Returns git's list, with the files of each folder that git does not list by file.
absl::StatusOr<std::vector<std::string>> InFull(const std::string& folder,
                                                std::vector<std::string> by_git) {
  std::vector<std::string> files;
  for (std::string& path : by_git) {
    while (path.ends_with('/')) path.pop_back();
    struct stat facts {};
    if (lstat((folder + "/" + path).c_str(), &facts) != 0) continue;  // removed, but not committed
    if (S_ISDIR(facts.st_mode)) {                                     // a work tree within this one
      DT_RETURN_IF_ERROR(ListAll(folder, path, files));
    } else {
      files.push_back(std::move(path));
    }
  }
  // git lists a path with a merge conflict once for each side.
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

bool IsIgnoreFile(const std::string& path) { return fs::path(path).filename() == ".gitignore"; }

bool IsLeftOut(const std::string& path) {
  const fs::path parts(path);
  return std::any_of(parts.begin(), parts.end(), [](const fs::path& part) {
    return std::find(kLeftOut.begin(), kLeftOut.end(), part.string()) != kLeftOut.end();
  });
}

// Lists the files to pack of a folder in no work tree. A .gitignore may name a secret, so it is
// either applied or nothing is packed.
absl::StatusOr<std::vector<std::string>> ListOutside(const std::string& folder) {
  std::vector<std::string> all;
  DT_RETURN_IF_ERROR(ListAll(folder, "", all));
  const auto ignores = std::find_if(all.begin(), all.end(), IsIgnoreFile);
  const bool whole = all.size() <= limits::kCodeFiles;
  if (ignores == all.end() && whole) return all;
  std::optional<std::vector<std::string>> kept = ListNotIgnored(folder);
  if (kept) {
    DT_ASSIGN_OR_RETURN(std::vector<std::string> files, InFull(folder, *std::move(kept)));
    std::erase_if(files, IsLeftOut);
    return files;
  }
  if (ignores == all.end()) return all;  // too many; the caller refuses them
  return absl::InvalidArgumentError(
      absl::StrCat("code: the folder '", folder, "' has a ", *ignores,
                   ", which git reads, and git could not be asked; install git, or move what is "
                   "not to travel out of the folder and remove the file"));
}

absl::StatusOr<Listed> List(const std::string& folder) {
  std::optional<std::vector<std::string>> by_git = ListByGit(folder);
  Listed listed;
  listed.by_git = by_git.has_value();
  if (by_git) {
    DT_ASSIGN_OR_RETURN(listed.files, InFull(folder, *std::move(by_git)));
  } else {
    DT_ASSIGN_OR_RETURN(listed.files, ListOutside(folder));
  }
  LeaveOutEnvironments(listed.files);
  return listed;
}

// Returns whether the folder, or one above it, has a git repository.
bool HasRepository(const std::string& folder) {
  std::error_code code;
  for (fs::path place = fs::absolute(folder, code); !code; place = place.parent_path()) {
    if (fs::exists(place / ".git", code)) return true;
    if (place == place.parent_path()) break;
  }
  return false;
}

// Entries that one walk over a folder visits: enough for a large work tree; takes some seconds.
constexpr int kWalkedMost = 200'000;

// Calls visit(path, bytes) for each file and link below, path relative to `folder`. Does not enter
// folders of version control, and those that `skips` selects.
template <typename Skips, typename Visit>
void Walk(const std::string& folder, Skips skips, Visit visit) {
  std::error_code code;
  fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied,
                                         code);
  for (int walked = 0; !code && entry != fs::recursive_directory_iterator() && walked < kWalkedMost;
       entry.increment(code), ++walked) {
    const std::string name = entry->path().filename().string();
    std::error_code ignored;
    if (entry->symlink_status(ignored).type() == fs::file_type::directory) {
      const bool control = name == ".git" || name == ".hg" || name == ".svn";
      if (control || skips(name)) entry.disable_recursion_pending();
      continue;
    }
    const uintmax_t bytes = entry->is_symlink(ignored) ? 0 : entry->file_size(ignored);
    visit(entry->path().lexically_relative(folder).string(), ignored ? 0 : bytes);
  }
}

// Adds the files that match the patterns.
absl::Status Include(const std::string& folder, const std::vector<std::string>& patterns,
                     std::vector<std::string>& files) {
  if (patterns.empty()) return absl::OkStatus();
  std::vector<size_t> found(patterns.size(), 0);
  Walk(
      folder, [](const std::string&) { return false; },
      [&](const std::string& path, uintmax_t) {
        bool wanted = false;
        for (size_t i = 0; i < patterns.size(); ++i) {
          if (!Matches(patterns[i], path)) continue;
          ++found[i];
          wanted = true;
        }
        if (wanted && files.size() <= 2 * limits::kCodeFiles) files.push_back(path);
      });
  for (size_t i = 0; i < patterns.size(); ++i) {
    if (found[i] > 0) continue;
    return absl::InvalidArgumentError(absl::StrCat("code: no file below the folder '", folder,
                                                   "' matches '", patterns[i],
                                                   "' of include; correct it, or remove it"));
  }
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return absl::OkStatus();
}

// Returns whether a person would miss a file of this name: not a hidden one, nor one that tools
// generate.
bool Matters(const std::string& name) {
  if (name.starts_with('.') || name.ends_with('~')) return false;
  const std::string kind = fs::path(name).extension().string();
  constexpr std::array kMade = {".pyc", ".pyo", ".o", ".a", ".log", ".tmp", ".swp", ".out"};
  return std::find(kMade.begin(), kMade.end(), kind) == kMade.end();
}
bool IsMadeFolder(const std::string& name) {
  constexpr std::array kMade = {"build",  "dist",           "target", "out",  "wandb",
                                "mlruns", "lightning_logs", "runs",   "logs", "htmlcov"};
  return name.starts_with('.') || name.ends_with(".egg-info") ||
         std::find(kLeftOut.begin(), kLeftOut.end(), name) != kLeftOut.end() ||
         std::find(kMade.begin(), kMade.end(), name) != kMade.end();
}

// Returns a note for the person about files that stay behind. "": nothing to note.
std::string LeftBehind(const std::string& folder, const std::vector<std::string>& travel) {
  constexpr size_t kNamesShown = 3;
  std::vector<Sized> left;
  uint64_t bytes = 0;
  Walk(folder, IsMadeFolder, [&](const std::string& path, uintmax_t size) {
    if (std::binary_search(travel.begin(), travel.end(), path)) return;
    if (!Matters(fs::path(path).filename().string())) return;
    bytes += size;
    left.push_back({path, size});
  });
  if (left.empty()) return "";
  std::sort(left.begin(), left.end(), [](const Sized& a, const Sized& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.path < b.path;
  });
  std::string names;
  for (size_t i = 0; i < left.size() && i < kNamesShown; ++i) {
    absl::StrAppend(&names, i > 0 ? ", " : "", left[i].path);
  }
  const fs::path largest(left[0].path);
  const bool alone = left.size() == 1 || !largest.has_extension();
  const std::string pattern =
      alone ? left[0].path
            : (largest.parent_path() / ("*" + largest.extension().string())).string();
  return absl::StrCat(
      "git ignores ", left.size(), left.size() == 1 ? " file" : " files", " of the code's folder, ",
      FormatBytes(static_cast<double>(bytes)), ", which stay behind: ", names,
      left.size() > kNamesShown ? ", …" : "", "; if the program needs them, ",
      bytes > limits::kCodeBytes
          ? absl::StrCat(
                "put them on the workers' hosts and name them by an absolute path, since at "
                "most ",
                limits::kCodeBytes >> 20, " MiB travel")
          : absl::StrCat("write code: {folder: …, include: [", pattern, "]}"));
}

absl::StatusOr<std::string> ReadLink(const std::string& path) {
  std::string target(limits::kCodePathBytes + 1, '\0');
  const ssize_t bytes = readlink(path.c_str(), target.data(), target.size());
  if (bytes < 0) return SystemError("read the link", path);
  target.resize(static_cast<size_t>(bytes));
  return target;
}

// Checks every file before it reads one, so that a folder of data is refused at once.
absl::StatusOr<std::vector<File>> ReadFiles(const std::string& folder,
                                            const std::vector<std::string>& paths) {
  std::vector<File> files;
  std::vector<Sized> sizes;
  for (const std::string& path : paths) {
    struct stat facts {};
    if (lstat((folder + "/" + path).c_str(), &facts) != 0) continue;
    const bool link = S_ISLNK(facts.st_mode);
    if (!link && !S_ISREG(facts.st_mode)) continue;  // a socket, a pipe: nothing to send
    const bool executable = (facts.st_mode & S_IXUSR) != 0;
    const Kind kind = link ? Kind::kLink : executable ? Kind::kExecutable : Kind::kFile;
    sizes.push_back({path, static_cast<uint64_t>(facts.st_size)});
    files.push_back({path, kind, ""});
  }
  DT_RETURN_IF_ERROR(CheckSizes(sizes));
  for (File& file : files) {
    const std::string path = folder + "/" + file.path;
    auto content = file.kind == Kind::kLink ? ReadLink(path) : ReadFile(path, limits::kCodeBytes);
    if (!content.ok()) return content.status();
    file.content = *std::move(content);
  }
  return files;
}

// Opens the parent folder of `path` below `root`; makes missing folders.
absl::StatusOr<UniqueFd> OpenParent(int root, std::string_view path) {
  UniqueFd folder(fcntl(root, F_DUPFD_CLOEXEC, 3));
  if (!folder.valid()) return SystemError("open", std::string(path));
  const std::vector<std::string> parts = absl::StrSplit(View(path), '/');
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    if (mkdirat(folder.get(), parts[i].c_str(), 0700) != 0 && errno != EEXIST) {
      return SystemError("make the folder of", std::string(path));
    }
    UniqueFd next(
        openat(folder.get(), parts[i].c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next.valid()) return SystemError("open the folder of", std::string(path));
    folder = std::move(next);
  }
  return folder;
}

absl::Status WriteOne(int root, const FileView& file) {
  const std::string path(file.path);
  DT_ASSIGN_OR_RETURN(const UniqueFd folder, OpenParent(root, file.path));
  const std::string name = path.substr(path.rfind('/') + 1);
  if (file.kind == Kind::kLink) {
    const std::string target(file.content);
    if (symlinkat(target.c_str(), folder.get(), name.c_str()) == 0) return absl::OkStatus();
    return SystemError("make the link", path);
  }
  const mode_t mode = file.kind == Kind::kExecutable ? 0700 : 0600;
  const UniqueFd out(openat(folder.get(), name.c_str(),
                            O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!out.valid()) return SystemError("create", path);
  for (std::string_view left = file.content; !left.empty();) {
    const ssize_t put = write(out.get(), left.data(), left.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return SystemError("write", path);
    left.remove_prefix(static_cast<size_t>(put));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PackedFolder> PackFolder(const std::string& folder,
                                        const std::vector<std::string>& include) {
  std::error_code code;
  if (!fs::is_directory(folder, code)) {
    return absl::InvalidArgumentError(
        absl::StrCat("code: '", folder, "' is not a folder; name one, relative to the file"));
  }
  DT_ASSIGN_OR_RETURN(Listed listed, List(folder));
  DT_RETURN_IF_ERROR(Include(folder, include, listed.files));
  DT_ASSIGN_OR_RETURN(std::vector<File> files, ReadFiles(folder, listed.files));
  std::vector<std::string> travel;
  for (const File& file : files) travel.push_back(file.path);
  std::sort(travel.begin(), travel.end());
  if (files.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("code: the folder '", folder, "' has no file to send",
                     listed.by_git ? ": git ignores what is in it" : "", "; name another"));
  }
  PackedFolder packed;
  packed.note = LeftBehind(folder, travel);
  packed.files = static_cast<uint32_t>(files.size());
  DT_ASSIGN_OR_RETURN(packed.bytes, Pack(std::move(files)));
  packed.digest = Sha256Hex(packed.bytes);
  if (listed.by_git) {
    packed.revision = RevisionOf(folder);
    packed.changes = ChangesIn(folder);
  } else if (HasRepository(folder)) {
    absl::StrAppend(
        &packed.note, packed.note.empty() ? "" : "; ",
        "git was not asked about the work tree that the code's folder is in, or refused to answer "
        "(git status there says why): what it tracks although a .gitignore names it did not "
        "travel");
  }
  return packed;
}

absl::Status UnpackInto(std::string_view packed, const std::string& folder) {
  DT_ASSIGN_OR_RETURN(const std::vector<FileView> files, Read(packed));
  if (mkdir(folder.c_str(), 0700) != 0) return SystemError("make the folder", folder);
  const UniqueFd root(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  absl::Status status = root.valid() ? absl::OkStatus() : SystemError("open", folder);
  for (const FileView& file : files) {
    if (status.ok()) status = WriteOne(root.get(), file);
  }
  if (!status.ok()) RemoveAll(folder).IgnoreError();
  return status;
}

}  // namespace dt::pack
