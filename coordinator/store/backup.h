// backup.h: copies a database while the coordinator writes to it.
//
// Role:    SQLite's backup API in one step: the copy is the state after one commit, the writer does
//          not wait, and the copy has every commit before its start.
// Threads: thread-compatible; opens its own connections.
// Errors:  ResourceExhausted or Unavailable from the disk; the copy is then unusable.
// Source:  "Using the SQLite Online Backup API", https://www.sqlite.org/backup.html
// Tests:   tests/coordinator/dtcoord_test.cc
#pragma once

#include <string>

#include "absl/status/status.h"
#include "coordinator/store/sqlite.h"

namespace dt {

// Copies the database at `path` into the new file `copy`, which is durable on return. `access` is
// kReadOnly beside a coordinator, and kOffline if no process has the database open.
absl::Status CopyDatabase(const std::string& path, Access access, const std::string& copy);

}  // namespace dt
