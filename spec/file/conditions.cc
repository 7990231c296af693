#include "spec/file/conditions.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "spec/file/diagnostics.h"
#include "spec/program.h"

namespace dt::spec {
namespace {

using Kind = YamlNode::Kind;

// Returns the nodes of the values: those of a list, or the node itself.
std::vector<const YamlNode*> ValuesIn(const YamlNode& node, const Field& field) {
  // A value of such a field is a list itself.
  const bool lists = field.type != FieldType::kNumbers ||
                     std::all_of(node.items.begin(), node.items.end(),
                                 [](const YamlNode& item) { return item.kind == Kind::kSequence; });
  if (node.kind != Kind::kSequence || !lists) return {&node};
  std::vector<const YamlNode*> values;
  for (const YamlNode& item : node.items) values.push_back(&item);
  return values;
}

void ReadWhen(const YamlNode& node, const std::string& path, const ParameterFields& fields,
              Reading& reading, v1::Parameter& parameter) {
  const std::string where = ChildPath(path, "when");
  if (node.kind != Kind::kMap) {
    reading.RefuseKind(node, where, "a map of other parameters to values",
                       "for example: when: {model: large}, or when: {model: [large, huge]}");
    return;
  }
  if (node.entries.empty()) {
    reading.Refuse(node.mark, where,
                   {where, "empty", absl::StrCat(where, " names no parameter"), "remove it"});
  }
  for (const YamlEntry& entry : node.entries) {
    const std::string at = ChildPath(where, entry.key);
    const Field* field = fields.Find(entry.key);
    reading.Place(at, field == nullptr ? entry.mark : entry.value.mark);
    v1::Condition& condition = *parameter.add_when();
    condition.set_path(entry.key);
    // Validate reports that it is not among the parameters.
    if (field == nullptr) continue;
    if (reading.Refused(ChildPath("parameters", entry.key))) {
      reading.Silence(at);
      continue;
    }
    const std::vector<const YamlNode*> values = ValuesIn(entry.value, *field);
    if (values.size() > static_cast<size_t>(limits::kConditionValues)) {
      reading.Refuse(entry.value.mark, at,
                     {at, "too_many",
                      absl::StrCat(at, " has ", values.size(), " values; at most ",
                                   limits::kConditionValues, " are allowed"),
                      "write the condition with fewer values"});
      continue;
    }
    for (const YamlNode* value : values) {
      if (auto read = reading.ReadValue(*field, *value, at)) {
        *condition.add_values() = *std::move(read);
      }
    }
  }
}

}  // namespace

void ReadConditions(const YamlNode& node, Reading& reading, v1::ExperimentSpec& out) {
  const ParameterFields fields(out);
  const size_t count = std::min(node.entries.size(), static_cast<size_t>(out.parameters_size()));
  for (size_t i = 0; i < count; ++i) {
    v1::Parameter& parameter = *out.mutable_parameters(static_cast<int>(i));
    for (const YamlEntry& word : node.entries[i].value.entries) {
      if (word.key != "when") continue;
      ReadWhen(word.value, ChildPath("parameters", parameter.path()), fields, reading, parameter);
    }
  }
}

}  // namespace dt::spec
