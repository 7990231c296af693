#include "spec/file/combinations.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "spec/program.h"

namespace dt::spec {
namespace {

using Kind = YamlNode::Kind;

// Reads {parameter: value, …} of a list's entry; `add` makes a place for one more.
template <typename Add>
void ReadCombination(const YamlNode& item, const std::string& entry,
                     const spec::ParameterFields& fields, Reading& reading, Add add) {
  if (item.kind != Kind::kMap) {
    reading.RefuseKind(item, entry, "a map of parameters to values");
    return;
  }
  for (const YamlEntry& where : item.entries) {
    const std::string path = ChildPath(entry, where.key);
    const Field* field = fields.Find(where.key);
    const bool at_key = field == nullptr || where.value.kind == Kind::kNull;
    reading.Place(path, at_key ? where.mark : where.value.mark);
    v1::Assignment& assignment = *add();
    assignment.set_path(where.key);
    if (field == nullptr) continue;  // Validate reports that it is not among the parameters
    if (const auto value = reading.ReadValue(*field, where.value, path)) {
      *assignment.mutable_value() = *value;
    }
  }
}

// Reads the list `name`. `make` makes a combination and returns its `add`.
template <typename Make>
void ReadCombinations(const YamlNode& node, const std::string& name, const char* example,
                      Reading& reading, const v1::ExperimentSpec& out, Make make) {
  if (node.kind != Kind::kSequence) {
    reading.RefuseKind(node, name, "a list of combinations",
                       absl::StrCat("for example: ", name, ": ", example));
    return;
  }
  const spec::ParameterFields fields(out);
  for (size_t i = 0; i < node.items.size(); ++i) {
    const std::string entry = IndexedPath(name, i);
    reading.Place(entry, node.items[i].mark);
    ReadCombination(node.items[i], entry, fields, reading, make());
  }
}

}  // namespace

void ReadExclusions(const YamlNode& node, Reading& reading, v1::ExperimentSpec& out) {
  ReadCombinations(node, "exclude", "[{train.batch_size: 32}]", reading, out,
                   [&out] { return [one = out.add_exclude()] { return one->add_where(); }; });
}

void ReadInclusions(const YamlNode& node, Reading& reading, v1::ExperimentSpec& out) {
  ReadCombinations(node, "include", "[{optimizer.lr: 6.0e-4, train.batch_size: 16}]", reading, out,
                   [&out] { return [one = out.add_include()] { return one->add_values(); }; });
}

void ReadSeeds(const YamlNode& node, Reading& reading, v1::ExperimentSpec& out) {
  if (node.kind != Kind::kSequence) {
    reading.RefuseKind(node, "seeds", "a list of integers",
                       node.kind == Kind::kScalar
                           ? absl::StrCat("write seeds: [", node.text, "], or seed: ", node.text)
                           : "");
    return;
  }
  Field seed = *spec::FindField("seed");
  for (size_t i = 0; i < node.items.size(); ++i) {
    seed.path = IndexedPath("seeds", i);
    reading.Place(IndexedPath("seeds", static_cast<size_t>(out.seeds_size())), node.items[i].mark);
    if (const auto value = reading.ReadValue(seed, node.items[i], seed.path)) {
      out.add_seeds(value->integer());
    } else {
      reading.LeaveOut(seed.path, "seeds");
    }
  }
  if (node.items.empty()) {
    reading.Refuse(node.mark, "seeds",
                   {"seeds", "empty", "seeds has no values", "list at least one, or remove it"});
  }
}

}  // namespace dt::spec
