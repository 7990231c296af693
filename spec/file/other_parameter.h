// other_parameter.h: what words of other systems within a parameter mean here.
//
// Role:  pure; ParameterReader asks for what it does not know. Bounds that are exponents there are
//        computed, since a person who copies them would search another range.
// Tests: tests/spec/file/other_parameter_test.cc
#pragma once

#include <string>

#include "spec/file/yaml_tree.h"

namespace dt::spec {

// What to write in place of `key` of the parameter that `node` describes. "": no system that we
// know has the word, or there is nothing of the kind here.
std::string OtherParameterHint(const std::string& key, const YamlNode& node);
// Whether a system that we know has it.
bool IsOtherParameterWord(const std::string& key);

}  // namespace dt::spec
