// sweep.h: reads the parameters of an experiment file.
//
// Role:   fills an experiment from the nodes of a tree. A range becomes a list of values if it has
//         a count, or a step under a grid; otherwise it stays a range.
// Errors: collected in the Reading; spec::CheckRange checks a range's numbers.
// Tests:  tests/spec/file/experiment_file_test.cc, tests/spec/file/search_file_test.cc
#pragma once

#include "spec/file/reading.h"
#include "spec/file/yaml_tree.h"
#include "spec/spec.h"

namespace dt::spec {

// REQUIRES: search.method and search.sampler are in `out` already, or refused.
void ReadParameters(const YamlNode& node, Reading& reading, spec::v1::ExperimentSpec& out);

}  // namespace dt::spec
