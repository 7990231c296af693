// resolved_spec.h: specifications in the form that a trainer takes, made from the few fields that a
// test is about.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "spec/table/field.h"

namespace dt::testing {

// Returns `partial` completed with the field table's defaults and GPT-2's sizes. Fields of
// `partial` that no table has stay, so that tests can see them refused.
inline nlohmann::json Resolved(const nlohmann::json& partial) {
  using nlohmann::json;
  const auto given = [&partial](const char* section, const char* name) {
    return partial.contains(section) && partial[section].contains(name);
  };
  const bool limited = given("train", "max_steps") || given("train", "max_tokens");
  const std::map<std::string, json> dependent = {
      {"seed", 0},
      {"model.n_layer", 12},
      {"model.n_head", 12},
      {"model.n_embd", 768},
      {"model.n_ff", 3072},
      {"model.n_positions", 1024},
      {"model.vocab_size", 50257},
      {"model.vocab_pad",
       given("model", "vocab_size") ? partial["model"]["vocab_size"] : json(50304)},
      {"model.tie_head", true},
      {"model.head_bias", false},
      {"model.bias", true},
      {"model.norm", "pre"},
      {"model.activation", "gelu_tanh"},
      {"model.positions", "learned"},
      {"model.dropout", 0},
      {"train.global_batch_size", 0},
      {"train.epochs", limited ? 0 : 1},
  };
  const auto value = [&dependent](const spec::Field& field) -> json {
    const std::string& text = field.default_text;
    switch (field.default_kind) {
      case spec::DefaultKind::kDependent:
        return dependent.at(field.path);
      case spec::DefaultKind::kNone:
      case spec::DefaultKind::kRequired:
        return "";
      case spec::DefaultKind::kFixed:
        break;
    }
    if (field.type == spec::FieldType::kText || field.type == spec::FieldType::kChoice) return text;
    if (text.back() != 's') return json::parse(text);
    const double seconds = std::stod(text);
    if (field.type == spec::FieldType::kEvery) return {{"seconds", seconds}};
    return seconds;
  };
  json whole;
  for (const spec::Field& field : spec::FieldTable()) {
    if (!spec::HoldsValue(field) || field.placing || field.use == spec::Use::kProgram) continue;
    const auto [section, name] = spec::JsonPlaceOf(field);
    (section.empty() ? whole : whole[section])[name] = value(field);
  }
  // Not merge_patch, which takes a null for "absent".
  for (const auto& [name, fields] : partial.items()) {
    if (!fields.is_object() || !whole.contains(name)) {
      whole[name] = fields;
    } else {
      for (const auto& [field, one] : fields.items()) whole[name][field] = one;
    }
  }
  return whole;
}

}  // namespace dt::testing
