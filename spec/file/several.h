// several.h: fields that stand for one value beside a field that takes several: search.metric and
// search.metrics.
//
// Role:  pure. A list given to the first, or a single value given to the second, is refused with a
//        hint that has the other name and the person's own values.
// Tests: tests/spec/file/goals_file_test.cc
#pragma once

#include <string>
#include <string_view>

#include "spec/file/yaml_tree.h"

namespace dt::spec {

// Returns how to write a list that was given to the field of this path, which takes one value.
// "": no other field takes several.
std::string HintAtSeveral(std::string_view path, const YamlNode& list);
// Returns how to write a single value that was given to the field of this path, which takes a list.
// "": no other field takes one.
std::string HintAtOne(std::string_view path, const YamlNode& value);

}  // namespace dt::spec
