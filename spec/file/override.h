// override.h: applies --set a.b=v to the tree of an experiment file and to its text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/may_go_on.h"
#include "spec/file/yaml_tree.h"

namespace dt::spec {

// Puts the value at its path in the tree, and makes sections on the way. Fields of a section that
// the value does not name stay as they are. An error in the argument becomes a problem of the tree.
// `source` marks the new nodes (SourcePosition::source).
void ApplyOverride(const std::string& argument, int source, YamlTree& tree);

// Returns the text with the values written in, with its comments and layout. The caller checks that
// it reads as intended: unknown layouts come out unchanged.
std::string SpliceOverrides(std::string_view text, const std::vector<std::string>& arguments,
                            const MayGoOn& may_go_on = {});

}  // namespace dt::spec
