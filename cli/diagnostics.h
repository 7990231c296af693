// diagnostics.h: from problems of a tree to diagnostics of a file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/experiment_file.h"
#include "cli/yaml_tree.h"

namespace dt::cli {

// In the order of the file, then of the --set arguments; a hundred at most.
std::vector<Diagnostic> ToDiagnostics(std::vector<YamlProblem> problems, std::string_view text,
                                      std::string_view file_name,
                                      const std::vector<std::string>& overrides);

}  // namespace dt::cli
