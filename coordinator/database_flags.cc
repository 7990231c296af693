#include "coordinator/database_flags.h"

#include <sys/stat.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/lead_limits.h"

namespace dt {

void DescribeDatabase(CLI::App& app, DatabaseFlags& flags) {
  app.add_option(
      "--database-file", flags.file,
      "Keep the journal in PostgreSQL instead of --state-dir. A file with libpq's connection "
      "string or URI, which other users must not be able to read. Of the coordinators that share "
      "a database, one leads and the others wait to take over");
  app.add_option("--code-dir", flags.code_dir,
                 "Folder of packed code [STATE_DIR/code]; with --database-file, a folder that all "
                 "coordinators share");
}

absl::StatusOr<std::string> ReadConnectionFile(const std::string& path) {
  struct stat found {};
  if (stat(path.c_str(), &found) == 0 && (found.st_mode & S_IROTH) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--database-file ", path,
                     " can be read by every user of this host, and may contain a password; "
                     "remove that right: chmod o-r ",
                     path));
  }
  const absl::StatusOr<std::string> text = ReadFile(path, limits::kConnectionFileBytes);
  if (!text.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--database-file: ", text.status().message()));
  }
  std::string conninfo(absl::StripAsciiWhitespace(*text));
  if (!conninfo.empty()) return conninfo;
  return absl::InvalidArgumentError(
      absl::StrCat("--database-file ", path,
                   " is empty; write a connection string into it, such as "
                   "'host=db.example dbname=dtrain user=dtrain sslmode=verify-full'"));
}

}  // namespace dt
