// trial_json.cc: a resolved trial as the JSON that `dttrain --spec` takes: protobuf's names for
// v1::Spec, in the order of the field table, numbers as numbers.
#include <nlohmann/json.hpp>

#include "spec/internal.h"
#include "spec/program.h"
#include "spec/spec.h"

namespace dt::spec {
namespace {

using nlohmann::ordered_json;

ordered_json JsonOf(const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kInteger:
      return value.integer();
    case v1::Value::kNumber:
      return value.number();
    case v1::Value::kText:
      return value.text();
    case v1::Value::kFlag:
      return value.flag();
    case v1::Value::kNumbers:
      return std::vector<double>(value.numbers().values().begin(), value.numbers().values().end());
    case v1::Value::KIND_NOT_SET:
      break;
  }
  return nullptr;
}

ordered_json JsonOf(const Field& field, const v1::Spec& spec) {
  if (field.type == FieldType::kTexts) {
    const auto& texts = GetTexts(spec, field.path);
    return std::vector<std::string>(texts.begin(), texts.end());
  }
  if (field.type == FieldType::kLabels) {
    ordered_json labels = ordered_json::array();
    for (const v1::Label& label : GetLabels(spec, field.path)) {
      labels.push_back({{"key", label.key()}, {"value", label.value()}});
    }
    return labels;
  }
  const v1::Value value = GetField(spec, field.path);
  const bool time = field.type == FieldType::kEvery || field.type == FieldType::kDuration;
  if (time && value.has_text()) {
    const double seconds = internal::DurationSeconds(value.text()).value_or(0);
    if (field.type != FieldType::kEvery) return seconds;
    ordered_json every = {{"seconds", seconds}};
    // Set by a coordinator; no file has it.
    const double first = spec.checkpoint().every().first_seconds();
    if (field.path == "checkpoint.every" && first > 0) every["first_seconds"] = first;
    return every;
  }
  if (field.type == FieldType::kEvery) return {{"steps", value.integer()}};
  return JsonOf(value);
}

}  // namespace

std::string ToJson(const v1::Spec& spec) {
  ordered_json whole;
  for (const Field& field : FieldTable()) {
    if (field.placing || !Concerns(spec, field)) continue;
    const auto [section, name] = JsonPlaceOf(field);
    (section.empty() ? whole : whole[section])[name] = JsonOf(field, spec);
  }
  for (const v1::Assignment& one : spec.values()) whole["values"][one.path()] = JsonOf(one.value());
  return whole.dump(2) + "\n";
}

}  // namespace dt::spec
