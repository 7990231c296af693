// other_parameter.h: translates other systems' words within a parameter.
//
// Role:  pure; ParameterReader asks it about unknown words. Bounds that are exponents in the other
//        system are computed, since a person who copied them would search another range.
// Tests: tests/spec/file/other_parameter_test.cc
#pragma once

#include <string>

#include "spec/file/yaml_tree.h"

namespace dt::spec {

// Returns what to write in place of `key` of the parameter that `node` describes. "": no system
// that we know has the word, or there is no counterpart.
std::string OtherParameterHint(const std::string& key, const YamlNode& node);
// Returns whether a system that we know has the word.
bool IsOtherParameterWord(const std::string& key);

}  // namespace dt::spec
