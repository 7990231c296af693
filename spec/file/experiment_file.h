// experiment_file.h: turns an experiment file's text, with --set applied, into its experiment or a
// list of its errors.
//
// Role:      pure: text in, specification and diagnostics out.
// Errors:    data, as Diagnostics sorted by place; yaml-cpp's exceptions stop in yaml_tree.cc.
// Invariant: without diagnostics the specification passes spec::Validate, and reading
//            effective_text again gives the same.
// Tests:     tests/spec/file/experiment_file_test.cc, tests/fuzz/experiment_file_fuzz.cc
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/may_go_on.h"
#include "dtrain/v1/model.pb.h"
#include "spec/file/diagnostics.h"

namespace dt::spec {

struct ExperimentFile {
  ::dtrain::v1::ExperimentSpec spec;    // complete only if diagnostics is empty
  std::string effective_text;           // the file with --set applied, comments kept where possible
  std::vector<Diagnostic> diagnostics;  // errors
  std::vector<Diagnostic> warnings;     // only for a file without errors
};

// Reads a file. `overrides` are the arguments of --set, "train.batch_size=16", applied in order. If
// it may not go on, the result is incomplete.
ExperimentFile ReadExperimentFile(std::string_view text, std::string_view file_name,
                                  const std::vector<std::string>& overrides = {},
                                  const MayGoOn& may_go_on = {});

}  // namespace dt::spec
