// import.h: reads an experiment file of another tool and writes ours.
//
// Role:      pure: W&B sweeps, Determined experiments, Ray Tune and Hydra-Optuna YAML, Katib
//            experiments. What has no counterpart becomes a comment with its line; where a meaning
//            inverts there is a warning too.
// Errors:    InvalidArgument: the file is no YAML, or of none of these tools.
// Invariant: the text that Import returns has no errors, unless `problems` lists them.
// Tests:     tests/cli/import/import_test.cc, tests/fuzz/import_fuzz.cc
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "cli/import/imported.h"

namespace dt::cli {

// `file_name`: for the comment at its head, and a name where the file has none.
absl::StatusOr<Imported> Import(std::string_view text, std::string_view file_name);

}  // namespace dt::cli
