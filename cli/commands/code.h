// code.h: a file's folder of code: packed, sent before its experiment, and told to people.
//
// Threads: one thread.
// Errors:  of PackCode, those of common/pack/folder.h; of SendCode, the coordinator's.
// Tests:   tests/cli/commands/code_command_test.cc
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/remote/session.h"
#include "common/pack/folder.h"

namespace dt::cli {

// The folder that `base.code` names, relative to that of `file` ("-": to the working folder).
std::string CodeFolder(const std::string& file, const v1::Spec& base);

// Packs the folder that `spec` names (CodeFolder), and puts what it is into `spec`. Nothing: the
// experiment brings no code.
absl::StatusOr<std::optional<pack::PackedFolder>> PackCode(const std::string& file,
                                                           v1::ExperimentSpec& spec);

// Sends what the coordinator has not got, with a bar.
absl::Status SendCode(Session& session, Client& client, const pack::PackedFolder& packed);

// "3 files, 1.2 KiB, sha256 0123456789ab…"
std::string CodeText(const v1::Code& code);
// What there is to say of `code`, a line each: the above, then its commit and changes.
std::vector<std::string> CodeLines(const v1::Code& code);

}  // namespace dt::cli
