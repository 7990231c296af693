// conditions.h: reads `when` of parameters.
//
// Role:    reads after all parameters, since a value has the type of the parameter that it names.
// Tests:   tests/spec/file/space_file_test.cc
#pragma once

#include "spec/file/reading.h"
#include "spec/file/yaml_tree.h"
#include "spec/spec.h"

namespace dt::spec {

// `node`: the file's parameters. REQUIRES: `out` has them in the same order.
void ReadConditions(const YamlNode& node, Reading& reading, v1::ExperimentSpec& out);

}  // namespace dt::spec
