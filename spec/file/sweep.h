// sweep.h: what an experiment file says of more than one trial: parameters, include, exclude,
// seeds.
//
// Role:   fills an experiment from the nodes of a tree. A range becomes a list of values where it
//         has a count, and under a grid where it has a step; else it stays a range.
// Errors: gathered in the Reading; what a range's numbers may be is spec::CheckRange's to say.
// Tests:  tests/spec/file/experiment_file_test.cc, tests/spec/file/search_file_test.cc
#pragma once

#include "spec/file/reading.h"
#include "spec/file/yaml_tree.h"
#include "spec/spec.h"

namespace dt::spec {

// REQUIRES: search.method and search.sampler are in `out` already, or refused.
void ReadParameters(const YamlNode& node, Reading& reading, spec::v1::ExperimentSpec& out);
void ReadExclusions(const YamlNode& node, Reading& reading, spec::v1::ExperimentSpec& out);
void ReadInclusions(const YamlNode& node, Reading& reading, spec::v1::ExperimentSpec& out);
void ReadSeeds(const YamlNode& node, Reading& reading, spec::v1::ExperimentSpec& out);

}  // namespace dt::spec
