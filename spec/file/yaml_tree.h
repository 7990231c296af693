// yaml_tree.h: YAML text as a plain tree with places, built in one guarded pass over yaml-cpp.
//
// Role:   keeps from the rest of the program what yaml-cpp 0.7 lets through: duplicate keys,
//         aliases (a cycle or a bomb in a few bytes), merges, tags, several documents, nesting and
//         size without bound, control characters.
// Errors: data, as Problems; what yaml-cpp throws becomes one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spec/spec.h"

namespace dt::spec {

struct Mark {
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
  Mark mark;
  std::string text;  // of a scalar
  spec::Quoting quoting = spec::Quoting::kPlain;
  Style style = Style::kBlock;
  bool reported = false;           // a problem names it already; report nothing more about it
  std::vector<YamlNode> items;     // of a sequence
  std::vector<YamlEntry> entries;  // of a map, in order, keys unique
};
struct YamlEntry {
  std::string key;
  Mark mark;
  YamlNode value;
};

struct YamlProblem {
  Mark mark;
  std::string path;
  std::string code;
  std::string message;
  std::string hint;
};
struct YamlTree {
  YamlNode root;
  std::vector<YamlProblem> problems;
  bool readable = false;  // root holds the whole text, which may still have problems
};

YamlTree ParseYaml(std::string_view text);
// Whether the plain text is YAML's word for nothing.
bool IsNullYaml(std::string_view text);
// The tree as text that parses to the same tree: block maps, flow sequences.
std::string PrintYaml(const YamlNode& root);
// "a list": what a message calls the node.
std::string KindText(const YamlNode& node);
// "train.batch_size", "parameters[2]": the path of a child.
std::string ChildPath(const std::string& parent, const std::string& key);

}  // namespace dt::spec
