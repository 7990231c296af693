// submit.h: checks an experiment file and submits it.
//
// Role:  dtctl submit, and dtctl sweep, which writes its file first.
// Tests: tests/cli/commands/submit_test.cc, sweep_file_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/remote/session.h"

namespace dt::cli {

struct SubmitOptions {
  std::string file;
  std::optional<std::string> text;  // the file's content, of a file that is not there
  std::vector<std::string> assignments;
  std::optional<int64_t> max_concurrent;
  bool dry_run = false;
  bool follow = false;
  bool wait = false;
  bool id_only = false;
  std::optional<int64_t> trial;
};

// Reads a file ("-": standard input), up to a byte over the limit, so that the reader refuses it.
// Errors: NotFound or FailedPrecondition, with the file and the system's reason.
absl::StatusOr<std::string> ReadText(Session& session, const std::string& path);
absl::StatusOr<ExitCode> Submit(Session& session, const SubmitOptions& options);
// Prints the file that Submit would send, and what is wrong with it.
absl::StatusOr<ExitCode> PrintFile(Session& session, const SubmitOptions& options);

}  // namespace dt::cli
