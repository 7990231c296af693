// backup_command.cc: fills, checks and syncs a draft beside the output, then renames it.
#include "coordinator/backup_command.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <optional>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/files.h"
#include "common/limits.h"
#include "common/status.h"
#include "common/text.h"
#include "common/unique_fd.h"
#include "coordinator/code/code_store.h"
#include "coordinator/door/access_store.h"
#include "coordinator/offline_journal.h"
#include "coordinator/store/backup.h"
#include "coordinator/store/check.h"
#include "coordinator/store/directory_lock.h"
#include "coordinator/store/mark.h"

namespace dt {
namespace {

namespace fs = std::filesystem;

// Makes or takes over the folder of a draft for one process at a time, and removes the files of an
// earlier one.
absl::StatusOr<UniqueFd> BeginDraft(const std::string& draft) {
  if (mkdir(draft.c_str(), 0700) != 0 && errno != EEXIST) return SystemError("make", draft);
  UniqueFd fd(open(draft.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid()) return SystemError("open", draft);
  // On a file system without locks, two backups cannot be kept apart.
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return absl::FailedPreconditionError(absl::StrCat("another backup is being made in ", draft,
                                                      "; wait for it, or name another --output"));
  }
  DT_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(draft));
  for (const std::string& name : names) {
    DT_RETURN_IF_ERROR(RemoveAll(absl::StrCat(draft, "/", name)));
  }
  return fd;
}

absl::Status CopyFile(const std::string& from, const std::string& to) {
  DT_ASSIGN_OR_RETURN(const std::string content, ReadFile(from, limits::kCodeBytes));
  DT_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(to));
  DT_RETURN_IF_ERROR(file.Append(content.data(), content.size()));
  return file.SyncAndClose();
}

// Copies code after the journal, so that all code named in the copy is there. Code removed
// meanwhile is code that no experiment names.
absl::Status CopyCode(const std::string& from, const std::string& to) {
  std::error_code error;
  if (!fs::exists(from, error)) return absl::OkStatus();
  DT_RETURN_IF_ERROR(MakeFolders(to));
  DT_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(from));
  for (const std::string& name : names) {
    if (absl::StrContains(name, '.')) continue;  // a draft, not complete
    const std::string path = absl::StrCat(from, "/", name);
    const absl::Status copied = CopyFile(path, absl::StrCat(to, "/", name));
    if (!copied.ok() && fs::exists(path, error)) return copied;
  }
  return SyncFolder(to);
}

// Checks the copy and returns its content.
absl::StatusOr<JournalReport> CheckCopy(const std::string& copy,
                                        const std::optional<HighWaterMark>& promised) {
  DT_ASSIGN_OR_RETURN(JournalReport report,
                      CheckJournal(copy, std::numeric_limits<uint64_t>::max()));
  std::vector<std::string> wrong = report.damage;
  if (report.head && promised) {
    if (std::string missing = MissingOf(*report.head, promised); !missing.empty())
      wrong.push_back(std::move(missing));
  }
  if (wrong.empty()) return report;
  return absl::DataLossError(
      absl::StrCat("the copied journal is damaged or incomplete: ", absl::StrJoin(wrong, "; "),
                   ". No backup was made; keep the earlier ones, stop the coordinator, and run "
                   "dtcoord check"));
}

// Copies the tokens, as hashes, and the audit record of a coordinator with --auth=tokens.
absl::Status CopyAccess(const std::string& state, Access access, const std::string& draft) {
  std::error_code error;
  if (!fs::exists(AccessPathOf(state), error)) return absl::OkStatus();
  const std::string copy = AccessPathOf(draft);
  DT_RETURN_IF_ERROR(CopyDatabase(AccessPathOf(state), access, copy));
  return chmod(copy.c_str(), 0600) == 0 ? absl::OkStatus() : SystemError("restrict", copy);
}

// Fills `draft` from `state`; durable on return.
absl::StatusOr<JournalReport> FillDraft(const std::string& state, const std::string& draft) {
  const std::string journal = JournalPathOf(state);
  const std::string copy = JournalPathOf(draft);
  // Read before the copy, since the copy must contain everything in the mark.
  const std::optional<HighWaterMark> promised = ReadMark(MarkPathOf(journal));
  {
    // A running coordinator has the lock, and the copy is taken beside it. Otherwise nothing is
    // created or changed in the folder, which may be read-only.
    const auto lock = LockStateDirectoryToRead(state);
    const bool runs = absl::IsFailedPrecondition(lock.status());
    if (!lock.ok() && !runs) return lock.status();
    const Access access = runs ? Access::kReadOnly : Access::kOffline;
    DT_RETURN_IF_ERROR(CopyDatabase(journal, access, copy));
    DT_RETURN_IF_ERROR(CopyAccess(state, access, draft));
  }
  DT_ASSIGN_OR_RETURN(JournalReport report, CheckCopy(copy, promised));
  DT_RETURN_IF_ERROR(CopyCode(CodeFolderOf(state), CodeFolderOf(draft)));
  DT_RETURN_IF_ERROR(SyncFolder(draft));
  return report;
}

absl::Status MakeBackup(const std::string& state, const std::string& output) {
  const std::string draft = output + ".begun";
  DT_ASSIGN_OR_RETURN(const UniqueFd held, BeginDraft(draft));
  auto report = FillDraft(state, draft);
  absl::Status status = report.status();
  // A rename replaces at most an empty folder, so it loses nothing.
  if (status.ok()) status = Rename(draft, output);
  if (!status.ok()) {
    const absl::Status removed = RemoveAll(draft);
    return removed.ok() ? status
                        : absl::Status(status.code(),
                                       absl::StrCat(status.message(), "; and ", removed.message()));
  }
  const fs::path parent = fs::path(output).parent_path();
  DT_RETURN_IF_ERROR(SyncFolder(parent.empty() ? "." : parent.string()));
  std::printf("%s: %s\n", output.c_str(), ContentsOf(*report).c_str());
  const CodeReport code = CheckCode(CodeFolderOf(output));
  std::vector<std::string> wanting = code.damaged;
  DT_ASSIGN_OR_RETURN(const auto missing, MissingCode(JournalPathOf(output), CodeFolderOf(output)));
  wanting.insert(wanting.end(), missing.begin(), missing.end());
  if (code.kept > 0) {
    std::printf("beside it: %lld folders of packed code, %s\n", static_cast<long long>(code.kept),
                FormatBytes(static_cast<double>(code.bytes)).c_str());
  }
  // Reports damaged or missing code without failing, like the state folder's check: the rest is
  // worth keeping.
  for (const std::string& line : wanting)
    std::fprintf(stderr, "dtcoord backup: %s\n", line.c_str());
  return absl::OkStatus();
}

}  // namespace

int BackupCommand(const std::string& state, const std::string& given) {
  const auto fail = [](int code, const std::string& message) {
    std::fprintf(stderr, "dtcoord backup: %s\n", message.c_str());
    return code;
  };
  std::string output = given;
  while (output.size() > 1 && output.back() == '/') output.pop_back();
  std::error_code error;
  if (!fs::is_directory(state, error) || !fs::exists(JournalPathOf(state), error)) {
    return fail(2, absl::StrCat("there is no journal in ", state,
                                "; name the --state-dir of a coordinator. A journal in "
                                "PostgreSQL is copied with pg_dump"));
  }
  if (fs::exists(fs::symlink_status(output, error))) {
    return fail(
        2, absl::StrCat(
               output,
               " already exists, and a backup replaces nothing; give --output a new name, such "
               "as one with the date"));
  }
  if (const absl::Status made = MakeBackup(state, output); !made.ok())
    return fail(1, std::string(made.message()));
  return 0;
}

}  // namespace dt
