// database_flags.h: dtcoord's flags on a journal in PostgreSQL
// (docs/administration/two-coordinators.md).
//
// Errors: InvalidArgument names the flag, its value, and what is right.
// Tests:  tests/coordinator/dtcoord_test.cc
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "absl/status/statusor.h"

namespace dt {

struct DatabaseFlags {
  std::string file;
  std::string code_dir;
};

void DescribeDatabase(CLI::App& app, DatabaseFlags& flags);
// Reads libpq's connection string from a file. It may contain a password, so it must not be on a
// command line.
absl::StatusOr<std::string> ReadConnectionFile(const std::string& path);

}  // namespace dt
