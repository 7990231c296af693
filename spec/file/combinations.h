// combinations.h: reads include, exclude and seeds of an experiment file.
//
// Role:   fills an experiment from the nodes of a tree.
// Errors: collected in the Reading.
// Tests:  tests/spec/file/experiment_file_test.cc, tests/spec/file/search_file_test.cc
#pragma once

#include "spec/file/reading.h"
#include "spec/file/yaml_tree.h"
#include "spec/spec.h"

namespace dt::spec {

// REQUIRES: the parameters are in `out` already.
void ReadExclusions(const YamlNode& node, Reading& reading, spec::v1::ExperimentSpec& out);
void ReadInclusions(const YamlNode& node, Reading& reading, spec::v1::ExperimentSpec& out);
void ReadSeeds(const YamlNode& node, Reading& reading, spec::v1::ExperimentSpec& out);

}  // namespace dt::spec
