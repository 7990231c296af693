// diagnostics.h: from problems of a tree to diagnostics of a file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spec/file/experiment_file.h"
#include "spec/file/yaml_tree.h"

namespace dt::spec {

// In the order of the file, then of the --set arguments; a hundred at most.
std::vector<Diagnostic> ToDiagnostics(std::vector<YamlProblem> problems, Severity severity,
                                      std::string_view text, std::string_view file_name,
                                      const std::vector<std::string>& overrides);

}  // namespace dt::spec
