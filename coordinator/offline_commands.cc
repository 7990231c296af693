// offline_commands.cc: the subcommands' flags and actions.
#include "coordinator/offline_commands.h"

#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/files.h"
#include "common/status.h"
#include "coordinator/backup_command.h"
#include "coordinator/check_command.h"
#include "coordinator/database_flags.h"
#include "coordinator/door/door.h"
#include "coordinator/store/candidate.h"
#include "coordinator/store/directory_lock.h"

namespace dt {
namespace {

// Opens the tokens for a change. Refuses while a coordinator runs, since it has already read its
// tokens.
absl::StatusOr<AccessStore> OpenAccess(const std::string& database_file,
                                       const std::string& state_dir, const Clock& clock) {
  if (database_file.empty()) return AccessStore::Open(state_dir);
  DT_ASSIGN_OR_RETURN(const std::string conninfo, ReadConnectionFile(database_file));
  Candidate candidate(conninfo, "dtcoord admin-token");
  DT_ASSIGN_OR_RETURN(const bool free, candidate.Look(clock.Now().steady));
  if (free) return AccessStore::OpenPostgres(conninfo);
  return absl::FailedPreconditionError(absl::StrCat(
      "'", candidate.leader(), "' leads; stop the coordinators of this database first"));
}

int AdminTokenCommand(const std::string& database_file, const std::string& state_dir) {
  const auto make = [&]() -> absl::Status {
    DT_ASSIGN_OR_RETURN(const DirectoryLock lock, LockStateDirectory(state_dir));
    const SystemClock clock;
    DT_ASSIGN_OR_RETURN(AccessStore access, OpenAccess(database_file, state_dir, clock));
    DT_ASSIGN_OR_RETURN(const auto door, Door::OpenWith(std::move(access), state_dir, clock));
    return door->LeaveAdminToken();
  };
  const absl::Status made = make();
  if (made.ok()) return 0;
  std::fprintf(stderr, "dtcoord: %s\n", std::string(made.message()).c_str());
  return 1;
}

}  // namespace

int Printed(int code) {
  const absl::Status printed = FlushStandardOutput();
  if (printed.ok()) return code;
  std::fprintf(stderr, "dtcoord: %s\n", std::string(printed.message()).c_str());
  return 1;
}

OfflineCommands::OfflineCommands(CLI::App& app) {
  check_ = app.add_subcommand(
      "check",
      "Reads a complete journal and checks that it is undamaged: one in a state folder that no "
      "coordinator has open, or one in PostgreSQL. "
      "Exit code 0: undamaged; 1: damaged, or it cannot be read; 2: wrong usage.");
  auto* const journal = check_->add_option("JOURNAL", journal_, "A state folder, or a journal.db");
  check_
      ->add_option("--database-file", database_file_,
                   "Check the journal in PostgreSQL; a file with its connection string")
      ->excludes(journal);
  backup_ = app.add_subcommand(
      "backup",
      "Copies the journal and packed code of a state folder, whether its coordinator runs or not, "
      "and checks the copy. It appears under its name once it is complete, and has everything that "
      "was acknowledged before. Exit code 0: made; 1: not made; 2: wrong usage.");
  backup_->add_option("STATE", state_, "The --state-dir of a coordinator")->required();
  backup_
      ->add_option("--output", output_,
                   "A new folder for the backup; an existing one is not replaced")
      ->required();
  admin_ = app.add_subcommand(
      "admin-token",
      "Makes a new admin token in STATE/admin.token, for a stopped coordinator whose admin tokens "
      "are lost. Exit code 0: made; 1: not made; 2: wrong usage.");
  admin_->add_option("STATE", state_, "A state folder")->required();
  admin_->add_option("--database-file", database_file_,
                     "If the tokens are in PostgreSQL: a file with its connection string");
}

std::optional<int> OfflineCommands::Run() const {
  if (backup_->parsed()) return Printed(BackupCommand(state_, output_));
  if (admin_->parsed()) return Printed(AdminTokenCommand(database_file_, state_));
  if (check_->parsed()) {
    return Printed(database_file_.empty() ? CheckCommand(journal_)
                                          : CheckDatabaseCommand(database_file_));
  }
  return std::nullopt;
}

}  // namespace dt
