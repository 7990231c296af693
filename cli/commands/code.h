// code.h: packs an experiment's folder of code, sends it before the experiment, and describes it.
//
// Threads: one thread.
// Errors:  PackCode: those of common/pack/folder.h. SendCode: those of the coordinator.
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

// Returns the folder that `base.code` names, relative to the folder of `file` ("-": to the working
// folder).
std::string CodeFolder(const std::string& file, const v1::Spec& base);

// Packs the folder that `spec` names (CodeFolder), and describes it in `spec`. Returns nothing for
// an experiment without code.
absl::StatusOr<std::optional<pack::PackedFolder>> PackCode(const std::string& file,
                                                           v1::ExperimentSpec& spec);

// Returns what is wrong with the folder that `spec` names, such as a script that it lacks; "":
// nothing, or no program runs.
std::string CodeFault(const std::string& file, const v1::ExperimentSpec& spec);

// Sends the parts that the coordinator does not have, with a progress bar.
absl::Status SendCode(Session& session, Client& client, const pack::PackedFolder& packed);

// Returns "3 files, 1.2 KiB, sha256 0123456789ab…".
std::string CodeText(const v1::Code& code);
// Returns lines on `code`: the above, then its commit and uncommitted changes.
std::vector<std::string> CodeLines(const v1::Code& code);

}  // namespace dt::cli
