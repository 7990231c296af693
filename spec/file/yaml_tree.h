// yaml_tree.h: YAML text as a plain tree with places, built in one guarded pass over yaml-cpp.
//
// Role:   shields the rest of the program from what yaml-cpp 0.7 accepts: duplicate keys, aliases
//         (a cycle or a bomb in a few bytes), merges, tags, several documents, nesting and size
//         without bound, control characters.
// Errors: data, as Problems; an exception of yaml-cpp becomes one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spec/spec.h"

namespace dt::spec {

struct SourcePosition {
  int line = 1;  // from 1
  int column = 1;
  size_t offset = 0;  // in bytes
  int source = 0;     // 0: the file; n: the n-th --set
};

struct YamlEntry;
struct YamlNode {
  enum class Kind { kNull, kScalar, kSequence, kMap };
  enum class Style { kBlock, kFlow };
  Kind kind = Kind::kNull;
  SourcePosition mark;
  std::string text;  // of a scalar
  spec::Quoting quoting = spec::Quoting::kPlain;
  Style style = Style::kBlock;
  bool reported = false;           // a problem was reported for it already; report no more
  std::vector<YamlNode> items;     // of a sequence
  std::vector<YamlEntry> entries;  // of a map, in order, keys unique
};
struct YamlEntry {
  std::string key;
  SourcePosition mark;
  YamlNode value;
};

struct YamlProblem {
  SourcePosition mark;
  std::string path;
  std::string code;
  std::string message;
  std::string hint;
};
struct YamlTree {
  YamlNode root;
  std::vector<YamlProblem> problems;
  bool readable = false;  // root holds the complete text, which may still have problems
};

YamlTree ParseYaml(std::string_view text);
// Returns whether the plain text is YAML's null.
bool IsNullYaml(std::string_view text);
// Prints the tree as text that parses to the same tree: block maps, flow sequences.
std::string PrintYaml(const YamlNode& root);
// Returns "a list": a message's name for the node.
std::string KindText(const YamlNode& node);
// Returns the path of a child: "train.batch_size", "parameters[2]".
std::string ChildPath(const std::string& parent, const std::string& key);

}  // namespace dt::spec
