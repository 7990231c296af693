// normal.h: reads normal: {mean, std} and log_normal: {median, factor} of a parameter.
//
// Role:    shared by the reader of parameters.
// Tests:   tests/spec/file/space_file_test.cc
#pragma once

#include <optional>
#include <string>

#include "spec/file/reading.h"
#include "spec/file/yaml_tree.h"
#include "spec/spec.h"

namespace dt::spec {

// Returns the numbers of the distribution; nullopt: a problem was reported. `path`:
// "parameters.lr".
std::optional<v1::Normal> ReadNormal(const YamlNode& node, const std::string& path, bool log,
                                     Reading& reading);

}  // namespace dt::spec
