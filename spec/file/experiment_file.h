// experiment_file.h: an experiment file's text, with --set applied, as the experiment it describes
// or as everything that is wrong with it.
//
// Role:      pure: text in, specification and diagnostics out.
// Errors:    data, as Diagnostics sorted by place; yaml-cpp's exceptions stop in yaml_tree.cc.
// Invariant: without diagnostics the specification passes spec::Validate, and effective_text read
//            again gives the same.
// Tests:     tests/spec/file/experiment_file_test.cc, tests/fuzz/experiment_file_fuzz.cc
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/may_go_on.h"
#include "dtrain/v1/model.pb.h"

namespace dt::spec {

enum class Severity { kError, kWarning };
std::string Word(Severity severity);  // "error", "warning"

struct Diagnostic {
  Severity severity = Severity::kError;
  std::string file;  // "grid.yaml", or "--set train.batch_size=0" with line 0
  int line = 0;      // from 1
  int column = 0;    // from 1, in bytes
  std::string path;  // "train.batch_size", "parameters.optimizer.lr[2]", "" for the whole
  std::string code;  // of spec::Issue; and syntax, too_large, too_deep, alias, merge, tag, …
  std::string message;
  std::string hint;         // the fix, or ""
  std::string source_line;  // as the file has it; "": none, or over limits::kQuotedLineBytes
};

struct ExperimentFile {
  ::dtrain::v1::ExperimentSpec spec;    // complete only when diagnostics is empty
  std::string effective_text;           // the file with --set applied, comments kept where possible
  std::vector<Diagnostic> diagnostics;  // errors
  std::vector<Diagnostic> warnings;     // of a file without errors
};

// `overrides` are the arguments of --set, "train.batch_size=16", applied in order. Where it may not
// go on, what it returns is not complete.
ExperimentFile ReadExperimentFile(std::string_view text, std::string_view file_name,
                                  const std::vector<std::string>& overrides = {},
                                  const MayGoOn& may_go_on = {});

// As compilers print them, for a terminal:
//   grid.yaml:7:3: error: unknown key 'train.batchsize'; did you mean 'train.batch_size'?
//       7 |   batchsize: 8
//         |   ^ in train
std::string RenderDiagnostics(const std::vector<Diagnostic>& diagnostics);

}  // namespace dt::spec
