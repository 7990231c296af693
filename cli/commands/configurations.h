// configurations.h: the list of 'get configurations' and, for experiments with several seeds, of
// 'best'.
//
// Role:  pure. Tests: tests/cli/commands/result_command_test.cc
#pragma once

#include <string>
#include <vector>

#include "cli/remote/session.h"
#include "cli/view/words.h"

namespace dt::cli {

// Returns a row for each. `paths` are the parameters of the file, for CSV.
Listing ListConfigurations(const std::vector<Configuration>& configurations,
                           const v1::ExperimentSummary& experiment,
                           const std::vector<std::string>& paths);

}  // namespace dt::cli
