#include "api/json.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "common/collectives.h"
#include "common/text.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "spec/program.h"
#include "spec/spec.h"

namespace dt::api {
namespace {

using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

std::string EnumWord(const EnumValueDescriptor* value) {
  if (value == nullptr || value->number() == 0) return "";
  std::string word = value->name();
  for (const char* prefix : {"TRIAL_", "EXPERIMENT_", "CAUSE_"}) {
    if (absl::StartsWith(word, prefix)) {
      word = word.substr(std::string(prefix).size());
      break;
    }
  }
  return absl::AsciiStrToLower(word);
}

// Returns null for "", which means unknown in a message.
Json TextOrNull(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

// Returns "ended_at" for "ended_wall_ms" and "logged_at" for a row's "wall_time_ms"; "" for a field
// that is no time.
std::string TimeName(const std::string& field) {
  constexpr absl::string_view kSuffix = "_wall_ms";
  if (field == "wall_time_ms") return "logged_at";
  if (!absl::EndsWith(field, kSuffix)) return "";
  return absl::StrCat(field.substr(0, field.size() - kSuffix.size()), "_at");
}

Json ValueJson(const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kInteger:
      return value.integer();
    case v1::Value::kNumber:
      return NumberJson(value.number());
    case v1::Value::kText:
      return value.text();
    case v1::Value::kFlag:
      return value.flag();
    case v1::Value::kNumbers: {
      Json list = Json::array();
      for (double number : value.numbers().values()) list.push_back(NumberJson(number));
      return list;
    }
    case v1::Value::KIND_NOT_SET:
      return nullptr;
  }
  return nullptr;
}

// `index` is -1 for a field that is not repeated.
Json FieldJson(const Message& message, const FieldDescriptor* field, int index) {
  const Reflection* reflection = message.GetReflection();
  const bool repeated = index >= 0;
  // An optional number that is not set is unknown.
  if (!repeated && field->has_presence() && !reflection->HasField(message, field)) return nullptr;
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return repeated ? reflection->GetRepeatedInt32(message, field, index)
                      : reflection->GetInt32(message, field);
    case FieldDescriptor::CPPTYPE_INT64:
      return repeated ? reflection->GetRepeatedInt64(message, field, index)
                      : reflection->GetInt64(message, field);
    case FieldDescriptor::CPPTYPE_UINT32:
      return repeated ? reflection->GetRepeatedUInt32(message, field, index)
                      : reflection->GetUInt32(message, field);
    case FieldDescriptor::CPPTYPE_UINT64: {
      const uint64_t value = repeated ? reflection->GetRepeatedUInt64(message, field, index)
                                      : reflection->GetUInt64(message, field);
      if (field->type() == FieldDescriptor::TYPE_FIXED64) return absl::StrFormat("%016x", value);
      return value;
    }
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return NumberJson(repeated ? reflection->GetRepeatedDouble(message, field, index)
                                 : reflection->GetDouble(message, field));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return NumberJson(repeated ? reflection->GetRepeatedFloat(message, field, index)
                                 : reflection->GetFloat(message, field));
    case FieldDescriptor::CPPTYPE_BOOL:
      return repeated ? reflection->GetRepeatedBool(message, field, index)
                      : reflection->GetBool(message, field);
    case FieldDescriptor::CPPTYPE_ENUM: {
      const std::string word =
          EnumWord(repeated ? reflection->GetRepeatedEnum(message, field, index)
                            : reflection->GetEnum(message, field));
      return word.empty() ? Json(nullptr) : Json(word);
    }
    case FieldDescriptor::CPPTYPE_STRING:
      if (repeated) return reflection->GetRepeatedString(message, field, index);
      if (field->type() == FieldDescriptor::TYPE_BYTES) {
        return TextOrNull(absl::BytesToHexString(reflection->GetString(message, field)));
      }
      return TextOrNull(reflection->GetString(message, field));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return ToJson(repeated ? reflection->GetRepeatedMessage(message, field, index)
                             : reflection->GetMessage(message, field));
  }
  return nullptr;
}

Json RepeatedJson(const Message& message, const FieldDescriptor* field) {
  const Reflection* reflection = message.GetReflection();
  const int size = reflection->FieldSize(message, field);
  const auto* type = field->message_type();
  if (type == v1::Assignment::descriptor() || type == v1::Label::descriptor()) {
    Json object = Json::object();
    for (int i = 0; i < size; ++i) {
      const Message& entry = reflection->GetRepeatedMessage(message, field, i);
      if (type == v1::Label::descriptor()) {
        const auto& label = static_cast<const v1::Label&>(entry);
        object[label.key()] = label.value();
      } else {
        const auto& assignment = static_cast<const v1::Assignment&>(entry);
        object[assignment.path()] = ValueJson(assignment.value());
      }
    }
    return object;
  }
  Json list = Json::array();
  for (int i = 0; i < size; ++i) list.push_back(FieldJson(message, field, i));
  return list;
}

// Returns the members of an empty object, with room for `count` and a few that are added later:
// when an object grows all its members are copied, since their names cannot be moved.
Json::object_t& MembersOf(Json& object, size_t count) {
  constexpr size_t kAdded = 4;
  auto& members = object.get_ref<Json::object_t&>();
  members.reserve(count + kAdded);
  return members;
}

Json WithId(const std::string& id, Json fields) {
  Json json = Json::object();
  Json::object_t& members = MembersOf(json, fields.size());
  members.emplace_back("id", id);
  for (auto& [name, value] : fields.get_ref<Json::object_t&>()) {
    members.emplace_back(name, std::move(value));
  }
  return json;
}

// Escapes C1 controls and the direction marks of Printable; the meaning stays the same. Most JSON
// is plain ASCII and is returned unchanged.
std::string Escaped(std::string json) {
  const auto find_wide = [&json](size_t from) {
    const auto wide = std::find_if(json.begin() + static_cast<int64_t>(from), json.end(),
                                   [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
    return static_cast<size_t>(wide - json.begin());
  };
  size_t wide = find_wide(0);
  if (wide == json.size()) return json;
  std::string text;
  text.reserve(json.size());
  for (size_t i = 0; i < json.size(); wide = find_wide(i)) {
    text.append(json, i, wide - i);
    i = wide;
    if (i == json.size()) break;
    const size_t length = std::max<size_t>(1, Utf8Length(std::string_view(json).substr(i)));
    const std::string point = json.substr(i, length);
    i += length;
    const std::string shown = length > 1 ? Printable(point) : point;
    text += absl::StartsWith(shown, "\\x") ? absl::StrCat("\\u00", shown.substr(2)) : shown;
  }
  return text;
}

// Adds the bytes on the bus, which a row leaves its readers to compute.
void AddBusBytes(const v1::StepRow& row, Json& json) {
  for (int i = 0; i < row.collectives_size(); ++i) {
    const v1::Collective& one = row.collectives(i);
    json["collectives"][static_cast<size_t>(i)]["bus_bytes"] =
        NumberJson(one.bytes() * BusFactor(one.op(), std::max(1U, one.ranks())));
  }
}

}  // namespace

std::string Word(v1::TrialState state) {
  return EnumWord(v1::TrialState_descriptor()->FindValueByNumber(state));
}
std::string Word(v1::ExperimentState state) {
  return EnumWord(v1::ExperimentState_descriptor()->FindValueByNumber(state));
}
std::string Word(v1::Cause cause) {
  return EnumWord(v1::Cause_descriptor()->FindValueByNumber(cause));
}

v1::TrialState TrialStateFromWord(std::string_view word) {
  const auto* type = v1::TrialState_descriptor();
  for (int i = 0; i < type->value_count(); ++i) {
    if (!word.empty() && EnumWord(type->value(i)) == word) {
      return static_cast<v1::TrialState>(type->value(i)->number());
    }
  }
  return v1::TRIAL_STATE_UNSPECIFIED;
}

std::string FormatIso(int64_t wall_ms) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromUnixMillis(wall_ms),
                          absl::UTCTimeZone());
}

Json NumberJson(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json TimeJson(int64_t wall_ms) { return wall_ms == 0 ? Json(nullptr) : Json(FormatIso(wall_ms)); }

Json ToJson(const Message& message) {
  if (message.GetDescriptor() == v1::Value::descriptor()) {
    return ValueJson(static_cast<const v1::Value&>(message));
  }
  Json json = Json::object();
  const auto* type = message.GetDescriptor();
  Json::object_t& members = MembersOf(json, static_cast<size_t>(type->field_count()));
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* field = type->field(i);
    const std::string& name = field->name();
    const std::string time_name = TimeName(name);
    if (field->is_repeated()) {
      members.emplace_back(name, RepeatedJson(message, field));
    } else if (!time_name.empty()) {
      members.emplace_back(time_name, TimeJson(message.GetReflection()->GetInt64(message, field)));
    } else {
      members.emplace_back(name, FieldJson(message, field, -1));
    }
  }
  return json;
}

namespace {

// Erases a path, and each parent that becomes empty.
void Erase(Json& from, std::string_view path) {
  const size_t dot = path.find('.');
  const auto found = from.find(std::string(path.substr(0, dot)));
  if (found == from.end()) return;
  if (dot != std::string_view::npos) {
    Erase(*found, path.substr(dot + 1));
    if (!found->empty()) return;
  }
  from.erase(found);
}

// A program has no learning rate of ours, though the message has a field for one: readers that show
// or compare the values of trials must not find it.
Json SpecJson(const v1::ExperimentSpec& spec) {
  Json json = ToJson(spec);
  if (!spec::IsProgram(spec)) return json;
  for (const spec::Field& field : spec::FieldTable()) {
    if (!spec::Concerns(spec, field)) Erase(json["base"], field.path);
  }
  return json;
}

}  // namespace

Json ExperimentJson(const v1::ExperimentSummary& experiment) {
  Json json = WithId(absl::StrCat(experiment.experiment()), ToJson(experiment));
  if (experiment.best_trial() == 0) json["best_trial"] = json["best_value"] = nullptr;
  if (experiment.eta_seconds() < 0) json["eta_seconds"] = nullptr;
  return json;
}

Json ExperimentFields(const v1::GetExperimentResponse& found) {
  Json fields = ExperimentJson(found.summary());
  fields["spec"] = SpecJson(found.spec());
  fields["file_name"] = found.file_name();
  fields["file_text"] = found.file_text();
  if (!found.environment_lock().empty()) fields["environment_lock"] = found.environment_lock();
  fields["edits"] = Json::array();
  for (const v1::ExperimentEdit& edit : found.edits()) fields["edits"].push_back(ToJson(edit));
  fields["rung_list"] = Json::array();
  for (const v1::RungStanding& rung : found.rungs()) fields["rung_list"].push_back(ToJson(rung));
  return fields;
}

Json TrialJson(const v1::TrialSummary& trial) {
  Json json = WithId(absl::StrCat(trial.experiment(), "/", trial.trial()), ToJson(trial));
  if (trial.eta_seconds() < 0) json["eta_seconds"] = nullptr;
  AddBusBytes(trial.latest(), json["latest"]);
  for (const char* name : {"target_steps", "train_tokens", "tokens_per_step", "tokens_per_second",
                           "model_parameters", "best_val_step", "metric_step"}) {
    if (json[name] == 0) json[name] = nullptr;
  }
  return json;
}

Json ExplanationFields(const v1::ExplainTrialResponse& found) {
  Json fields = TrialJson(found.trial());
  fields["explanation"] = found.explanation();
  fields["attempt_list"] = Json::array();
  for (const auto& attempt : found.attempts()) {
    Json json = ToJson(attempt);
    if (attempt.rank() < 0) json["rank"] = nullptr;
    fields["attempt_list"].push_back(std::move(json));
  }
  fields["takeover_list"] = Json::array();
  for (const auto& takeover : found.takeovers()) {
    fields["takeover_list"].push_back(ToJson(takeover));
  }
  return fields;
}

Json CheckpointJson(const v1::CheckpointSummary& checkpoint) {
  Json json = WithId(
      absl::StrCat(checkpoint.experiment(), "/", checkpoint.trial(), "#", checkpoint.attempt()),
      ToJson(checkpoint));
  json.erase("checkpoint");
  json.update(ToJson(checkpoint.checkpoint()));
  return json;
}

Json WorkerJson(const v1::WorkerSummary& worker) { return WithId(worker.worker(), ToJson(worker)); }

Json QuotaJson(const v1::QuotaSummary& quota) {
  return {{"user", quota.user()},
          {"label", quota.label()},
          {"slots", quota.slots()},
          {"held", quota.held()},
          {"set_by", quota.set_by()},
          {"set_at", TimeJson(quota.set_wall_ms())},
          {"set_time", TimeJson(quota.set_wall_ms())}};  // the name up to version 0.2.0
}

Json QuotaFields(const v1::SetQuotaResponse& set) {
  Json fields = QuotaJson(set.quota());
  fields["changed"] = set.changed();
  return fields;
}

Json Document(std::string_view kind, Json fields) {
  Json json = Json::object();
  Json::object_t& members = MembersOf(json, fields.size());
  members.emplace_back("apiVersion", kApiVersion);
  members.emplace_back("kind", std::string(kind));
  for (auto& [name, value] : fields.get_ref<Json::object_t&>()) members[name] = std::move(value);
  return json;
}

Json List(std::string_view kind, std::vector<Json> items) {
  Json fields = Json::object();
  fields["items"] = std::move(items);
  return Document(kind, std::move(fields));
}

std::string Dump(const Json& json, int indent) {
  return Escaped(json.dump(indent, ' ', false, Json::error_handler_t::replace));
}

std::string JsonText(const Json& json) { return Dump(json, 2) + "\n"; }

std::string JsonLine(const Json& json) { return Dump(json, -1) + "\n"; }

}  // namespace dt::api
