// override.h: --set a.b=v, applied to the tree of an experiment file and to its text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/may_go_on.h"
#include "spec/file/yaml_tree.h"

namespace dt::spec {

// Puts the value at its path in the tree, making sections on the way; of a section the fields that
// the value does not name stay as they are; what is wrong with the
// argument becomes a problem of the tree. `source` marks what came of it (Mark::source).
void ApplyOverride(const std::string& argument, int source, YamlTree& tree);

// The text with the values written in, comments and layout kept. The caller checks that it reads as
// meant: layouts that this does not know come out unchanged.
std::string SpliceOverrides(std::string_view text, const std::vector<std::string>& arguments,
                            const MayGoOn& may_go_on = {});

}  // namespace dt::spec
