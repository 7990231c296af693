// backup.h: a copy of a database, taken beside the coordinator that writes to it.
//
// Role:    SQLite's backup API in one step: the copy is what one commit left, the writer does not
//          wait, and nothing is missed of what was committed before the copy began.
// Threads: thread-compatible; the connections are its own.
// Errors:  ResourceExhausted or Unavailable for what the disk says; a copy is then not to be used.
// Source:  "Using the SQLite Online Backup API", https://www.sqlite.org/backup.html
// Tests:   tests/coordinator/dtcoord_test.cc
#pragma once

#include <string>

#include "absl/status/status.h"
#include "coordinator/store/sqlite.h"

namespace dt {

// Copies the database at `path` into the new file `copy`, which is durable on return.
// `access`: kReadOnly beside a coordinator, kOffline where none has it.
absl::Status CopyDatabase(const std::string& path, Access access, const std::string& copy);

}  // namespace dt
