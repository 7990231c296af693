// store.cc: flock, and a marker that is written last.
#include "worker/environments/store.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/private_folder.h"
#include "worker/environments/image.h"

namespace dt::environments {
namespace {

namespace fs = std::filesystem;

constexpr char kMarker[] = "/dtrain-complete";
constexpr char kLock[] = ".lock";
constexpr char kCacheLock[] = "cache.lock";

absl::Status Lock(const UniqueFd& lock, int how, const std::string& path) {
  while (flock(lock.get(), how) != 0) {
    if (errno != EINTR) return SystemError("lock", path);
  }
  return absl::OkStatus();
}

absl::StatusOr<UniqueFd> OpenLockFile(const std::string& path) {
  UniqueFd lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.valid()) return SystemError("open", path);
  return lock;
}

// Writes everything of the folder's file system to the disk: an environment has many files.
absl::Status SyncAll(const std::string& folder) {
  const UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() || syncfs(fd.get()) != 0) return SystemError("sync", folder);
  return absl::OkStatus();
}

// Returns whether the interpreter of a virtual environment is gone: the link to the host's Python
// leads nowhere after that Python was replaced. PATH would lead to another one without packages.
bool LacksPython(const std::string& folder) {
  if (access((folder + "/pyvenv.cfg").c_str(), F_OK) != 0) return false;
  return access((folder + "/bin/python").c_str(), X_OK) != 0 ||
         access((folder + "/bin/python3").c_str(), X_OK) != 0;
}

struct Known {
  int64_t used_ns = 0;  // when it was last claimed
  std::string name;
};

// Returns the environments in the folder, the least recently used first. Incomplete ones are first.
std::vector<Known> AllIn(const std::string& folder) {
  std::vector<Known> all;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename();
    if (!absl::EndsWith(name, kLock) || name == kCacheLock) continue;
    Known known;
    known.name = name.substr(0, name.size() - (sizeof(kLock) - 1));
    struct stat facts {};
    // A lock stays when its environment goes: a process may be about to take it.
    if (lstat((folder + "/" + known.name).c_str(), &facts) != 0) continue;
    if (stat((folder + "/" + known.name + kMarker).c_str(), &facts) == 0) {
      known.used_ns = facts.st_mtim.tv_sec * 1'000'000'000 + facts.st_mtim.tv_nsec;
    }
    all.push_back(std::move(known));
  }
  std::sort(all.begin(), all.end(), [](const Known& a, const Known& b) {
    return std::pair(a.used_ns, a.name) < std::pair(b.used_ns, b.name);
  });
  return all;
}

}  // namespace

Store::Store(std::string folder, uint64_t bytes_max)
    : folder_(std::move(folder)), bytes_max_(bytes_max) {}

std::string Store::FolderOf(const std::string& name) const { return folder_ + "/" + name; }

bool Store::IsComplete(const std::string& name) const {
  return access((FolderOf(name) + kMarker).c_str(), F_OK) == 0 && !LacksPython(FolderOf(name)) &&
         !LacksImage(FolderOf(name));
}

// Trials run what is in the folder.
absl::Status Store::Open() const {
  absl::Status opened = OpenPrivateFolder(folder_);
  if (opened.ok()) return opened;
  return IoError(absl::StrCat("the folder of environments ", folder_, ": ", opened.message(),
                              "; name one that is this user's alone with --environments-dir of "
                              "dtworker"));
}

absl::StatusOr<UniqueFd> Store::OpenLock(const std::string& name) const {
  DT_RETURN_IF_ERROR(Open());
  return OpenLockFile(FolderOf(name) + kLock);
}

absl::StatusOr<bool> Store::Claim(
    const std::string& name, const UniqueFd& lock,
    const std::function<absl::Status(const std::string&)>& make) const {
  const std::string folder = FolderOf(name);
  bool made = false;
  for (;;) {
    DT_RETURN_IF_ERROR(Lock(lock, LOCK_SH, folder));
    if (IsComplete(name)) {
      // The time of use. If it cannot be set, the environment only counts as older.
      static_cast<void>(utimensat(AT_FDCWD, (folder + kMarker).c_str(), nullptr, 0));
      return made;
    }
    DT_RETURN_IF_ERROR(Lock(lock, LOCK_EX, folder));
    if (IsComplete(name)) continue;
    // A maker that ended in the middle left it.
    DT_RETURN_IF_ERROR(RemoveAll(folder));
    DT_ASSIGN_OR_RETURN(UniqueFd cache_in_use, ShareCache());
    absl::Status done = make(folder);
    if (done.ok() && LacksPython(folder)) {
      done = IoError(absl::StrCat("the environment in ", folder, " was made without a Python"));
    }
    if (done.ok()) done = SyncAll(folder);
    if (done.ok()) done = WriteFileAtomically(folder + kMarker, "");
    if (!done.ok()) {
      static_cast<void>(RemoveAll(folder));
      return done;
    }
    cache_in_use.Reset();
    made = true;
    Evict();  // not this one: its lock is held
  }
}

uint64_t Store::Bytes() const {
  uint64_t bytes = 0;
  std::set<std::pair<dev_t, ino_t>> linked;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder_, error), end; !error && at != end;
       at.increment(error)) {
    struct stat facts {};
    if (lstat(at->path().c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) continue;
    if (facts.st_nlink > 1 && !linked.emplace(facts.st_dev, facts.st_ino).second) continue;
    bytes += static_cast<uint64_t>(facts.st_blocks) * 512;
  }
  for (const Known& known : AllIn(folder_)) bytes += ImageBytes(FolderOf(known.name));
  return bytes;
}

absl::StatusOr<UniqueFd> Store::ShareCache() const {
  DT_RETURN_IF_ERROR(Open());
  const std::string path = folder_ + "/" + kCacheLock;
  DT_ASSIGN_OR_RETURN(UniqueFd lock, OpenLockFile(path));
  DT_RETURN_IF_ERROR(Lock(lock, LOCK_SH, path));
  return lock;
}

void Store::Evict() const {
  if (Bytes() <= bytes_max_) return;
  {
    // The cache goes first: while it has links to the files of an environment, the removal of the
    // environment frees nothing. The other user of the cache evicts when it is done.
    const absl::StatusOr<UniqueFd> cache_lock = OpenLockFile(folder_ + "/" + kCacheLock);
    if (!cache_lock.ok() || flock(cache_lock->get(), LOCK_EX | LOCK_NB) != 0) return;
    static_cast<void>(RemoveAll(cache()));
    static_cast<void>(RemoveAll(conda_cache()));
  }
  for (const Known& known : AllIn(folder_)) {
    if (Bytes() <= bytes_max_) return;
    const absl::StatusOr<UniqueFd> lock = OpenLock(known.name);
    if (!lock.ok() || flock(lock->get(), LOCK_EX | LOCK_NB) != 0) continue;  // a trial uses it
    // The marker first: what is left of it is not complete.
    static_cast<void>(unlink((FolderOf(known.name) + kMarker).c_str()));
    RemoveImage(FolderOf(known.name));
    static_cast<void>(RemoveAll(FolderOf(known.name)));
  }
}

}  // namespace dt::environments
