// schema.cc: JSON Schema (draft 2020-12) of the experiment file, for editors that complete and
// check while a person types. It is looser than Validate: it cannot express combinations of fields.
#include <nlohmann/json.hpp>

#include "common/limits.h"
#include "spec/internal.h"
#include "spec/normal_range.h"
#include "spec/notify.h"
#include "spec/spec.h"

namespace dt::spec {
namespace {

using nlohmann::ordered_json;

void AddBound(ordered_json& schema, const char* name, double bound, FieldType type) {
  if (type == FieldType::kInteger) {
    schema[name] = static_cast<int64_t>(bound);
  } else {
    schema[name] = bound;
  }
}

void AddRange(const Field& field, ordered_json& schema) {
  if (field.min == 0 && field.max == 0) return;
  AddBound(schema, field.min_exclusive ? "exclusiveMinimum" : "minimum", field.min, field.type);
  AddBound(schema, field.max_exclusive ? "exclusiveMaximum" : "maximum", field.max, field.type);
}

// The rule of common/metric_name.h.
constexpr const char* kMetricPattern =
    "^[A-Za-z0-9_./@:%+=#()\\[\\]^*!?~]([A-Za-z0-9_./@:%+=#()\\[\\]^*!?~ -]*"
    "[A-Za-z0-9_./@:%+=#()\\[\\]^*!?~-])?$";

// Returns the schema of the metrics of several objectives, or of their goals.
ordered_json ObjectiveList(const Field& field) {
  ordered_json items{{"type", "string"}, {"pattern", kMetricPattern}};
  if (field.path == "search.goals") items = {{"enum", {"minimize", "maximize"}}};
  return {{"type", "array"}, {"items", items}, {"minItems", 2}, {"maxItems", field.count}};
}

ordered_json Schema(const Field& field) {
  ordered_json schema;
  constexpr const char* kDurationPattern = "^([0-9.]+(ms|s|m|h))+$";
  switch (field.type) {
    case FieldType::kInteger:
      schema["type"] = "integer";
      AddRange(field, schema);
      break;
    case FieldType::kNumber:
      schema["type"] = "number";
      AddRange(field, schema);
      break;
    case FieldType::kText:
      schema["type"] = {"string", "number"};  // `name: 12` is text here
      break;
    case FieldType::kFlag:
      schema["type"] = "boolean";
      break;
    case FieldType::kChoice:
      schema["enum"] = field.choices;
      for (const auto& [word, choice] : field.synonyms) schema["enum"].push_back(word);
      if (field.open) {  // completion offers our words, but any name is right
        schema = {{"anyOf", {schema, {{"type", "string"}, {"pattern", kMetricPattern}}}}};
      }
      break;
    case FieldType::kNumbers: {
      ordered_json items{{"type", "number"}};
      AddRange(field, items);
      schema = {{"type", "array"}, {"items", items}};
      if (field.count > 0) schema["minItems"] = schema["maxItems"] = field.count;
      break;
    }
    case FieldType::kEvery:
      schema["anyOf"] = {{{"type", "integer"}, {"minimum", 0}},
                         {{"type", "string"}, {"pattern", kDurationPattern}}};
      break;
    case FieldType::kDuration:
      schema = {{"type", "string"}, {"pattern", kDurationPattern}};
      break;
    case FieldType::kTexts:
      if (field.path == "notify.events") {
        schema = {{"type", "array"}, {"items", {{"enum", NoticeWords()}}}, {"uniqueItems", true}};
        break;
      }
      if (field.path == "search.metrics" || field.path == "search.goals") {
        schema = ObjectiveList(field);
        break;
      }
      schema = {{"type", "array"},
                {"items", {{"type", {"string", "number", "boolean"}}}},
                {"minItems", 1},
                {"maxItems", field.count}};
      if (field.one_text) schema = {{"anyOf", {{{"type", "string"}}, schema}}};
      break;
    case FieldType::kLabels:
      schema = {{"type", "object"},
                {"additionalProperties", {{"type", {"string", "number", "boolean"}}}}};
      break;
  }
  return schema;
}

ordered_json Described(const Field& field) {
  ordered_json schema = Schema(field);
  schema["description"] = field.help;
  return schema;
}

// Returns the schema for one field under `parameters`.
ordered_json Sweep(const Field& field) {
  const ordered_json value = Schema(field);
  const ordered_json values{{"type", "array"}, {"items", value}, {"minItems", 1}};
  const ordered_json when{{"$ref", "#/$defs/when"}};
  ordered_json forms = ordered_json::array({values});
  forms.push_back(
      {{"type", "object"},
       {"properties",
        {{"values", values},
         {"probabilities", {{"type", "array"}, {"items", {{"type", "number"}, {"minimum", 0}}}}},
         {"when", when}}},
       {"required", {"values"}},
       {"additionalProperties", false}});
  forms.push_back({{"type", "object"},
                   {"properties", {{"value", value}, {"when", when}}},
                   {"required", {"value"}},
                   {"additionalProperties", false}});
  if (field.type == FieldType::kInteger || field.type == FieldType::kNumber) {
    const char* type = field.type == FieldType::kInteger ? "integer" : "number";
    forms.push_back({{"type", "object"},
                     {"properties",
                      {{"min", value},
                       {"max", value},
                       {"scale", {{"enum", {"linear", "log"}}}},
                       {"step", {{"type", type}, {"exclusiveMinimum", 0}}},
                       {"count", {{"type", "integer"}, {"minimum", 2}}},
                       {"when", when}}},
                     {"required", {"min", "max"}},
                     {"additionalProperties", false}});
    const ordered_json normal{{"required", {"normal"}}}, log_normal{{"required", {"log_normal"}}};
    forms.push_back({{"type", "object"},
                     {"properties",
                      {{"normal", {{"$ref", "#/$defs/normal"}}},
                       {"log_normal", {{"$ref", "#/$defs/log_normal"}}},
                       {"min", value},
                       {"max", value},
                       {"step", {{"type", type}, {"exclusiveMinimum", 0}}},
                       {"when", when}}},
                     {"oneOf", ordered_json::array({normal, log_normal})},
                     {"additionalProperties", false}});
  }
  return {{"anyOf", forms}, {"description", field.help}};
}

// Returns the schemas that the parameters share.
ordered_json SharedForms() {
  ordered_json forms;
  forms["when"] = {{"type", "object"},
                   {"description", "Only trials with these values of other parameters have it."},
                   {"minProperties", 1}};
  for (const bool log : {false, true}) {
    const NormalWords& words = WordsOfNormal(log);
    const ordered_json number{{"type", "number"}};
    ordered_json properties;
    properties[words.centre] = number;
    properties[words.spread] = number;
    forms[words.name] = {{"type", "object"},
                         {"properties", properties},
                         {"required", ordered_json::array({words.centre, words.spread})},
                         {"additionalProperties", false}};
  }
  return forms;
}

void PlaceField(const Field& field, ordered_json& properties) {
  ordered_json* in = &properties;
  std::string path = field.path;
  for (size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.')) {
    ordered_json& section = (*in)[path.substr(0, dot)];
    if (section.is_null()) {
      section = {{"type", "object"},
                 {"additionalProperties", false},
                 {"properties", ordered_json::object()}};
    }
    in = &section["properties"];
    path.erase(0, dot + 1);
  }
  (*in)[path] = Described(field);
  if (field.path != "code") return;
  // The file may add files that git ignores.
  const ordered_json texts{{"type", "array"}, {"items", {{"type", "string"}}}};
  const ordered_json both{{"type", "object"},
                          {"properties", {{"folder", {{"type", "string"}}}, {"include", texts}}},
                          {"required", {"folder"}},
                          {"additionalProperties", false}};
  (*in)[path] = {{"anyOf", {Schema(field), both}}, {"description", field.help}};
}

// The name of a program's own parameter, for which the table has no field.
constexpr const char* kNamePattern = "^[A-Za-z_][A-Za-z0-9_.-]*$";

// A file that runs a program may have parameters of any name, any other file only those of the
// table. In both, editors complete the names of the table.
void AddKinds(const ordered_json& parameters, const ordered_json& excluded, ordered_json& schema) {
  const auto combinations = [](const ordered_json& whole) {
    return ordered_json{{"items", whole}};
  };
  const ordered_json ours{{"properties", parameters}, {"additionalProperties", false}};
  const ordered_json values{{"properties", excluded}, {"additionalProperties", false}};
  const ordered_json named{{"propertyNames", {{"pattern", kNamePattern}}}};
  schema["if"] = {{"anyOf", {{{"required", {"command"}}}, {{"required", {"run"}}}}}};
  schema["then"] = {{"properties",
                     {{"parameters", named},
                      {"include", combinations(named)},
                      {"exclude", combinations(named)}}}};
  schema["else"] = {{"properties",
                     {{"parameters", ours},
                      {"include", combinations(values)},
                      {"exclude", combinations(values)}}}};
}

}  // namespace

std::string JsonSchema() {
  ordered_json properties, parameters, excluded, described;
  for (const Field& field : ExperimentFieldTable()) PlaceField(field, properties);
  for (const Field& field : FieldTable()) {
    PlaceField(field, properties);
    if (!field.sweepable) continue;
    parameters[field.path] = Sweep(field);
    described[field.path] = {{"description", field.help}};
    excluded[field.path] = Schema(field);
  }
  properties["parameters"] = {
      {"type", "object"},
      {"description", "What varies between trials: a field and its values."},
      {"properties", described}};
  properties["seeds"] = {{"type", "array"},
                         {"description", "Every configuration is trained once with each seed."},
                         {"items", Schema(*FindField("seed"))},
                         {"minItems", 1},
                         {"maxItems", limits::kSeeds},
                         {"uniqueItems", true}};
  properties["include"] = {
      {"type", "array"},
      {"description",
       "Complete combinations to try in addition, before drawn ones and after a grid."},
      {"items", {{"type", "object"}, {"minProperties", 1}}}};
  properties["exclude"] = {{"type", "array"},
                           {"description", "Combinations of parameters to leave out."},
                           {"items", {{"type", "object"}, {"minProperties", 1}}}};
  ordered_json schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                      {"title", "dtrain experiment file"},
                      {"type", "object"},
                      {"properties", properties},
                      {"required", {"version", "name"}},
                      {"additionalProperties", false},
                      {"$defs", SharedForms()}};
  AddKinds(parameters, excluded, schema);
  return schema.dump(2) + "\n";
}

}  // namespace dt::spec
