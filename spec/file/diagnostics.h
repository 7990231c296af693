// diagnostics.h: turns problems of a tree into diagnostics of a file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spec/file/yaml_tree.h"

namespace dt::spec {

enum class Severity { kError, kWarning };
std::string Word(Severity severity);  // "error", "warning"

struct Diagnostic {
  Severity severity = Severity::kError;
  std::string file;  // "grid.yaml", or "--set train.batch_size=0" with line 0
  int line = 0;      // from 1
  int column = 0;    // from 1, in bytes
  std::string path;  // "train.batch_size", "parameters.optimizer.lr[2]", "" for the file
  std::string code;  // a code of spec::Issue; and syntax, too_large, too_deep, alias, merge, tag, …
  std::string message;
  std::string hint;         // the fix, or ""
  std::string source_line;  // from the file; "": none, or longer than limits::kQuotedLineBytes
};

// Returns them in the order of the file, then of the --set arguments; at most a hundred.
std::vector<Diagnostic> ToDiagnostics(std::vector<YamlProblem> problems, Severity severity,
                                      std::string_view text, std::string_view file_name,
                                      const std::vector<std::string>& overrides);

// Prints diagnostics for a terminal, as compilers do:
//   grid.yaml:7:3: error: unknown key 'train.batchsize'; did you mean 'train.batch_size'?
//       7 |   batchsize: 8
//         |   ^ in train
std::string RenderDiagnostics(const std::vector<Diagnostic>& diagnostics);

}  // namespace dt::spec
