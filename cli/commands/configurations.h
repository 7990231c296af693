// configurations.h: configurations as a list: what 'get configurations' prints and, of experiments
// with several seeds, 'best'.
//
// Role:  pure. Tests: tests/cli/commands/result_command_test.cc
#pragma once

#include <string>
#include <vector>

#include "cli/remote/session.h"
#include "cli/view/words.h"

namespace dt::cli {

// A row for each; `paths`: the parameters of the file, for CSV.
Listing ListConfigurations(const std::vector<Configuration>& configurations,
                           const v1::ExperimentSummary& experiment,
                           const std::vector<std::string>& paths);

}  // namespace dt::cli
