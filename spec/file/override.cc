// override.cc: finds or makes the place of a --set path in a tree.
#include "spec/file/override.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace dt::spec {
namespace {

using Kind = YamlNode::Kind;

struct Argument {
  std::vector<std::string> path;  // keys from the root
  std::string value;
};

// Splits a path; keys under `parameters`, `exclude` and maps of text contain dots themselves.
std::vector<std::string> Keys(const std::string& path) {
  const std::vector<std::string> prefixes{"parameters.", "labels.", "resources.env.",
                                          "resources.labels."};
  for (const std::string& prefix : prefixes) {
    if (path.size() <= prefix.size() || path.compare(0, prefix.size(), prefix) != 0) continue;
    std::vector<std::string> keys = absl::StrSplit(prefix.substr(0, prefix.size() - 1), '.');
    keys.push_back(path.substr(prefix.size()));
    return keys;
  }
  return absl::StrSplit(path, '.');
}

YamlEntry* Find(YamlNode& map, const std::string& key) {
  const auto found = std::find_if(map.entries.begin(), map.entries.end(),
                                  [&](const YamlEntry& entry) { return entry.key == key; });
  return found == map.entries.end() ? nullptr : &*found;
}

// A program's parameter may be named as in the file: lr=0.1 for parameters.lr=0.1.
std::vector<std::string> KeysIn(YamlNode& root, const std::string& path) {
  YamlEntry* parameters = Find(root, "parameters");
  const bool program = Find(root, "command") != nullptr || Find(root, "run") != nullptr;
  if (program && parameters != nullptr && Find(root, path) == nullptr &&
      Find(parameters->value, path) != nullptr) {
    return {"parameters", path};
  }
  return Keys(path);
}

bool Split(const std::string& text, YamlNode& root, Argument& out) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) return false;
  out.path = KeysIn(root, text.substr(0, equals));
  out.value = text.substr(equals + 1);
  return std::none_of(out.path.begin(), out.path.end(),
                      [](const std::string& key) { return key.empty(); });
}

// Returns whether a value is YAML: a list, a map or a quoted text. Anything else is the value
// itself, so that globs need no quotes of their own.
bool IsYaml(const std::string& value) {
  return value.front() == '[' || value.front() == '{' || value.front() == '"' ||
         value.front() == '\'';
}

void SetSource(YamlNode& node, int source) {
  node.mark.source = source;
  for (YamlNode& item : node.items) SetSource(item, source);
  for (YamlEntry& entry : node.entries) {
    entry.mark.source = source;
    SetSource(entry.value, source);
  }
}

YamlNode ValueNode(const std::string& value, int source, std::vector<YamlProblem>& problems) {
  YamlNode node;  // stays empty for null, as in a file, and for Python's None
  if (IsYaml(value)) {
    YamlTree tree = ParseYaml(value);
    node = std::move(tree.root);
    node.reported = !tree.readable;
    for (YamlProblem& problem : tree.problems) {
      problem.mark.source = source;
      problems.push_back(std::move(problem));
    }
  } else if (!IsNullYaml(value)) {
    node.kind = Kind::kScalar;
    node.text = value;
  }
  SetSource(node, source);
  return node;
}

std::string LineIndent(std::string_view text, size_t offset) {
  const size_t newline = text.substr(0, offset).rfind('\n');
  const size_t start = newline == std::string_view::npos ? 0 : newline + 1;
  const std::string_view before = text.substr(start, offset - start);
  if (before.find_first_not_of(' ') != std::string_view::npos) return "not alone on its line";
  return std::string(before);
}

// Returns "section: {a: b}" or "section:\n  a: b" for the rest of a path that the file does not
// have.
std::string NewEntry(const std::vector<std::string>& keys, size_t from, const std::string& value) {
  std::string out = value;
  for (size_t i = keys.size(); i-- > from;) {
    out = absl::StrCat(keys[i], ": ", out);
    if (i > from) out = absl::StrCat("{", out, "}");
  }
  return out;
}

// Writes one value into the text; returns the text unchanged if its layout is not known here.
std::string Splice(const std::string& text, const std::string& assignment) {
  YamlTree tree = ParseYaml(text);
  if (!tree.readable || tree.root.kind != Kind::kMap || tree.root.entries.empty()) return text;
  Argument argument;
  if (!Split(assignment, tree.root, argument)) return text;
  YamlNode printed;
  printed.kind = Kind::kScalar;
  printed.text = argument.value;
  std::string value = IsYaml(argument.value) ? argument.value : PrintYaml(printed);
  if (!value.empty() && value.back() == '\n') value.pop_back();
  YamlNode* map = &tree.root;
  for (size_t depth = 0; depth < argument.path.size(); ++depth) {
    YamlEntry* entry = Find(*map, argument.path[depth]);
    if (entry != nullptr && depth + 1 < argument.path.size()) {
      map = &entry->value;
      if (map->kind != Kind::kMap) return text;
      continue;
    }
    std::string out = text;
    if (entry != nullptr) {
      const YamlNode& old = entry->value;
      const size_t at = old.mark.offset;
      size_t length = old.text.size();
      if (old.kind == Kind::kSequence && old.style == YamlNode::Style::kFlow) {
        const size_t end = text.find(']', at);  // a list of plain values; for others the caller
                                                // notices
        if (end == std::string::npos) return text;
        length = end + 1 - at;
      } else if (old.kind != Kind::kScalar || text.compare(at, length, old.text) != 0) {
        return text;
      }
      return out.replace(at, length, value);
    }
    const std::string made = NewEntry(argument.path, depth, value);
    if (map->style == YamlNode::Style::kFlow) {
      return out.insert(map->mark.offset + 1, map->entries.empty() ? made : made + ", ");
    }
    if (map == &tree.root) {
      return absl::StrCat(text, text.back() == '\n' ? "" : "\n", made, "\n");
    }
    const size_t at = map->entries.front().mark.offset;
    const std::string indent = LineIndent(text, at);
    return out.insert(at, absl::StrCat(made, "\n", indent));
  }
  return text;
}

// Returns whether a map at this path holds fields that may be set one by one; the description of a
// parameter is a single value.
bool IsFields(const std::vector<std::string>& path) {
  return path.size() < 2 || path.front() != "parameters";
}

// Merges `from` into `into`: other fields stay as they are.
void Merge(YamlNode from, const std::vector<std::string>& path, YamlNode& into) {
  if (from.kind != Kind::kMap || into.kind != Kind::kMap || from.reported || !IsFields(path)) {
    into = std::move(from);
    return;
  }
  for (YamlEntry& entry : from.entries) {
    YamlEntry* known = Find(into, entry.key);
    if (known == nullptr) {
      into.entries.push_back(std::move(entry));
      continue;
    }
    known->mark = entry.mark;
    std::vector<std::string> below = path;
    below.push_back(entry.key);
    Merge(std::move(entry.value), below, known->value);
  }
}

// Splits "train={a: 1, b: {c: 2}}" into "train.a=1" and "train.b.c=2"; leaves anything else as it
// is.
void AppendLeaves(const std::string& path, const YamlNode& node, std::vector<std::string>& leaves) {
  if (node.kind == Kind::kMap && !node.entries.empty() && IsFields(Keys(path))) {
    for (const YamlEntry& entry : node.entries) {
      AppendLeaves(absl::StrCat(path, ".", entry.key), entry.value, leaves);
    }
    return;
  }
  std::string value = PrintYaml(node);
  if (!value.empty() && value.back() == '\n') value.pop_back();
  leaves.push_back(absl::StrCat(path, "=", value));
}

std::vector<std::string> Leaves(const std::string& assignment) {
  const size_t equals = assignment.find('=');
  const std::string value = equals == std::string::npos ? "" : assignment.substr(equals + 1);
  if (value.empty() || value.front() != '{') return {assignment};
  const YamlTree tree = ParseYaml(value);
  const std::string path = assignment.substr(0, equals);
  if (!tree.readable || tree.root.kind != Kind::kMap || !IsFields(Keys(path))) return {assignment};
  std::vector<std::string> leaves;
  AppendLeaves(path, tree.root, leaves);
  return leaves;
}

}  // namespace

void ApplyOverride(const std::string& text, int source, YamlTree& tree) {
  SourcePosition mark;
  mark.source = source;
  Argument argument;
  if (!Split(text, tree.root, argument)) {
    tree.problems.push_back({mark, "", "syntax", "--set needs a field and a value",
                             "for example: --set train.batch_size=16"});
    return;
  }
  YamlNode* node = &tree.root;
  if (node->kind == Kind::kNull) node->kind = Kind::kMap;
  for (const std::string& key : argument.path) {
    if (node->kind != Kind::kMap) {
      tree.problems.push_back({mark, "", "wrong_type",
                               absl::StrCat("'", key, "' cannot be set: its parent is not a map"),
                               ""});
      return;
    }
    YamlEntry* entry = Find(*node, key);
    if (entry == nullptr) {
      YamlNode made;
      made.kind = Kind::kMap;
      made.mark = mark;
      node->entries.push_back({key, mark, std::move(made)});
      entry = &node->entries.back();
    }
    entry->mark.source = &key == &argument.path.back() ? source : entry->mark.source;
    node = &entry->value;
  }
  Merge(ValueNode(argument.value, source, tree.problems), argument.path, *node);
}

std::string SpliceOverrides(std::string_view text, const std::vector<std::string>& arguments,
                            const MayGoOn& may_go_on) {
  std::string out(text);
  for (const std::string& one : arguments) {
    if (!GoesOn(may_go_on)) break;
    for (const std::string& leaf : Leaves(one)) out = Splice(out, leaf);
  }
  return out;
}

}  // namespace dt::spec
