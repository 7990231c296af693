// fields.cc: reads and writes fields of v1::Spec, and of v1::ExperimentSpec around it, by path,
// through protobuf reflection.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/check.h"
#include "spec/internal.h"
#include "spec/spec.h"

namespace dt::spec {
namespace {

using google::protobuf::FieldDescriptor;
using internal::DurationSeconds;

// The sections ("search", "asha") and the field that a path names. "retries.backoff" is the field
// backoff_seconds: in the file units are part of a value, in messages part of a name.
struct FieldLocation {
  std::vector<const FieldDescriptor*> sections;  // empty: the field is in the message itself
  const FieldDescriptor* field;
};

// REQUIRES: a path in the field tables.
FieldLocation Locate(const google::protobuf::Descriptor* descriptor, std::string_view path) {
  FieldLocation location;
  for (size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.')) {
    location.sections.push_back(descriptor->FindFieldByName(std::string(path.substr(0, dot))));
    DT_CHECK(location.sections.back() != nullptr);
    descriptor = location.sections.back()->message_type();
    path.remove_prefix(dot + 1);
  }
  const std::string name(path);
  location.field = descriptor->FindFieldByName(name);
  if (location.field == nullptr) location.field = descriptor->FindFieldByName(name + "_seconds");
  DT_CHECK(location.field != nullptr);
  return location;
}

void Store(google::protobuf::Message& whole, const Field& field, const v1::Value& value) {
  const FieldLocation location = Locate(whole.GetDescriptor(), field.path);
  google::protobuf::Message* message = &whole;
  for (const FieldDescriptor* section : location.sections) {
    message = message->GetReflection()->MutableMessage(message, section);
  }
  const auto* to = message->GetReflection();
  switch (field.type) {
    case FieldType::kInteger:
      if (location.field->cpp_type() == FieldDescriptor::CPPTYPE_INT32) {
        // The table's ranges lie within it (tests/spec/field_table_test.cc).
        using Limits = std::numeric_limits<int32_t>;
        to->SetInt32(message, location.field,
                     static_cast<int32_t>(
                         std::clamp<int64_t>(value.integer(), Limits::min(), Limits::max())));
      } else {
        to->SetInt64(message, location.field, value.integer());
      }
      return;
    case FieldType::kNumber:
      to->SetDouble(message, location.field, value.number());
      return;
    case FieldType::kText:
    case FieldType::kChoice:
      to->SetString(message, location.field, value.text());
      return;
    case FieldType::kFlag:
      to->SetBool(message, location.field, value.flag());
      return;
    case FieldType::kNumbers:
      to->ClearField(message, location.field);
      for (const double number : value.numbers().values()) {
        to->AddDouble(message, location.field, number);
      }
      return;
    case FieldType::kDuration:
      to->SetDouble(message, location.field, DurationSeconds(value.text()).value_or(0));
      return;
    case FieldType::kEvery: {
      v1::Every every;
      if (value.kind_case() == v1::Value::kInteger) {
        every.set_steps(static_cast<uint64_t>(value.integer()));
      } else {
        every.set_seconds(DurationSeconds(value.text()).value_or(0));
      }
      to->MutableMessage(message, location.field)->CopyFrom(every);
      return;
    }
    case FieldType::kLabels:
    case FieldType::kTexts:
      return;  // not a Value: Canonical refused it
  }
}

v1::Value EveryValue(const v1::Every& every) {
  v1::Value value;
  if (every.steps() > 0) {
    value.set_integer(static_cast<int64_t>(every.steps()));
  } else if (every.seconds() != 0) {
    value.set_text(DurationText(every.seconds()));
  } else {
    value.set_integer(0);
  }
  return value;
}

v1::Value Load(const google::protobuf::Message& whole, const Field& field) {
  const FieldLocation location = Locate(whole.GetDescriptor(), field.path);
  const google::protobuf::Message* message = &whole;
  for (const FieldDescriptor* section : location.sections) {
    message = &message->GetReflection()->GetMessage(*message, section);
  }
  const auto* from = message->GetReflection();
  v1::Value value;
  if (location.field->has_presence() && !from->HasField(*message, location.field) &&
      field.type == FieldType::kNumber) {
    return value;
  }
  switch (field.type) {
    case FieldType::kInteger:
      value.set_integer(location.field->cpp_type() == FieldDescriptor::CPPTYPE_INT32
                            ? from->GetInt32(*message, location.field)
                            : from->GetInt64(*message, location.field));
      break;
    case FieldType::kNumber:
      value.set_number(from->GetDouble(*message, location.field));
      break;
    case FieldType::kText:
    case FieldType::kChoice:
      value.set_text(from->GetString(*message, location.field));
      break;
    case FieldType::kFlag:
      value.set_flag(from->GetBool(*message, location.field));
      break;
    case FieldType::kNumbers:
      value.mutable_numbers();
      for (int i = 0; i < from->FieldSize(*message, location.field); ++i) {
        value.mutable_numbers()->add_values(from->GetRepeatedDouble(*message, location.field, i));
      }
      break;
    case FieldType::kDuration:
      value.set_text(DurationText(from->GetDouble(*message, location.field)));
      break;
    case FieldType::kEvery:
      value = EveryValue(static_cast<const v1::Every&>(from->GetMessage(*message, location.field)));
      break;
    case FieldType::kLabels:
    case FieldType::kTexts:
      break;
  }
  return value;
}

void Clear(v1::Spec& spec, const Field& field) {
  const FieldLocation location = Locate(spec.GetDescriptor(), field.path);
  google::protobuf::Message* message = &spec;
  for (const FieldDescriptor* section : location.sections) {
    message = message->GetReflection()->MutableMessage(message, section);
  }
  message->GetReflection()->ClearField(message, location.field);
}

bool IsNumeric(FieldType type) {
  switch (type) {
    case FieldType::kInteger:
    case FieldType::kNumber:
    case FieldType::kNumbers:
    case FieldType::kEvery:
    case FieldType::kDuration:
      return true;
    case FieldType::kText:
    case FieldType::kFlag:
    case FieldType::kChoice:
    case FieldType::kLabels:
    case FieldType::kTexts:
      return false;
  }
  return false;
}

}  // namespace

v1::ExperimentSpec internal::Confined(const v1::ExperimentSpec& spec) {
  v1::ExperimentSpec confined = spec;
  v1::Spec& base = *confined.mutable_base();
  for (const Field& field : FieldTable()) {
    if (!IsNumeric(field.type) || Canonical(field, Load(base, field)).value) continue;
    Clear(base, field);
    if (field.default_kind != DefaultKind::kFixed) continue;
    const ReadValue read = ReadText(field, field.default_text);
    if (read.value) Store(base, field, *read.value);
  }
  return confined;
}

absl::Status SetField(v1::Spec& spec, std::string_view path, const v1::Value& value) {
  const Field* field = FindField(path);
  if (field == nullptr) {
    const std::string hint = PathHint(path);
    return absl::InvalidArgumentError(
        absl::StrCat("unknown field ", internal::Quote(path), hint.empty() ? "" : "; ", hint));
  }
  const ReadValue read = Canonical(*field, value);
  if (!read.value) return absl::InvalidArgumentError(ToString(read.issue));
  Store(spec, *field, *read.value);
  return absl::OkStatus();
}

v1::Value GetField(const v1::Spec& spec, std::string_view path) {
  const Field* field = FindField(path);
  DT_CHECK(field != nullptr);
  return Load(spec, *field);
}

absl::Status SetExperimentField(v1::ExperimentSpec& spec, std::string_view path,
                                const v1::Value& value) {
  const Field* field = FindExperimentField(path);
  DT_CHECK(field != nullptr);
  const ReadValue read = Canonical(*field, value);
  if (!read.value) return absl::InvalidArgumentError(ToString(read.issue));
  Store(spec, *field, *read.value);
  return absl::OkStatus();
}

v1::Value GetExperimentField(const v1::ExperimentSpec& spec, std::string_view path) {
  const Field* field = FindExperimentField(path);
  DT_CHECK(field != nullptr);
  v1::Value value = Load(spec, *field);
  // An optional number that is not given; unless its message can tell 0 from absent.
  const bool zero =
      (value.has_integer() && value.integer() == 0) || (value.has_number() && value.number() == 0);
  const bool absent = field->default_kind == DefaultKind::kDependent && zero &&
                      !Locate(spec.GetDescriptor(), field->path).field->has_presence();
  return absent ? v1::Value() : value;
}

const google::protobuf::RepeatedPtrField<std::string>& GetExperimentTexts(
    const v1::ExperimentSpec& spec, std::string_view path) {
  if (path == "search.metrics") return spec.search().metrics();
  if (path == "search.goals") return spec.search().goals();
  if (path == "search.constraints") return spec.search().constraints();
  DT_CHECK(path == "notify.events");
  return spec.notify().events();
}

google::protobuf::RepeatedPtrField<std::string>& MutableExperimentTexts(v1::ExperimentSpec& spec,
                                                                        std::string_view path) {
  if (path == "search.metrics") return *spec.mutable_search()->mutable_metrics();
  if (path == "search.goals") return *spec.mutable_search()->mutable_goals();
  if (path == "search.constraints") return *spec.mutable_search()->mutable_constraints();
  DT_CHECK(path == "notify.events");
  return *spec.mutable_notify()->mutable_events();
}

const google::protobuf::RepeatedPtrField<v1::Label>& GetLabels(const v1::Spec& spec,
                                                               std::string_view path) {
  DT_CHECK(path == "resources.env" || path == "resources.labels");
  return path == "resources.env" ? spec.resources().env() : spec.resources().labels();
}

google::protobuf::RepeatedPtrField<v1::Label>& MutableLabels(v1::Spec& spec,
                                                             std::string_view path) {
  DT_CHECK(path == "resources.env" || path == "resources.labels");
  v1::Resources& resources = *spec.mutable_resources();
  return path == "resources.env" ? *resources.mutable_env() : *resources.mutable_labels();
}

const google::protobuf::RepeatedPtrField<std::string>& GetTexts(const v1::Spec& spec,
                                                                std::string_view path) {
  if (path == "metrics.pattern") return spec.metrics().pattern();
  if (path == "environment.uv") return spec.environment().uv();
  if (path == "environment.module") return spec.environment().module();
  DT_CHECK(path == "command" || path == "code_include");
  return path == "command" ? spec.command() : spec.code_include();
}

google::protobuf::RepeatedPtrField<std::string>& MutableTexts(v1::Spec& spec,
                                                              std::string_view path) {
  if (path == "metrics.pattern") return *spec.mutable_metrics()->mutable_pattern();
  if (path == "environment.uv") return *spec.mutable_environment()->mutable_uv();
  if (path == "environment.module") return *spec.mutable_environment()->mutable_module();
  DT_CHECK(path == "command" || path == "code_include");
  return path == "command" ? *spec.mutable_command() : *spec.mutable_code_include();
}

std::string FieldText(const v1::Spec& spec, std::string_view path) {
  const Field* field = FindField(path);
  DT_CHECK(field != nullptr);
  if (HoldsValue(*field)) return ValueText(GetField(spec, path));
  if (field->type == FieldType::kTexts) return internal::TextsYaml(spec, path);
  std::vector<std::string> parts;
  for (const v1::Label& label : GetLabels(spec, path)) {
    parts.push_back(absl::StrCat(label.key(), ": ", label.value()));
  }
  return absl::StrCat("{", absl::StrJoin(parts, ", "), "}");
}

}  // namespace dt::spec
