#include "cli/view/json.h"

#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/text.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace dt::cli {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

std::string Scalar(const Json& json) { return api::Dump(json, -1); }

std::string YamlScalar(const Json& json) {
  if (json.is_string() && IsPlainYaml(json.get<std::string>())) return json.get<std::string>();
  if (json.is_array() && json.empty()) return "[]";
  if (json.is_object() && json.empty()) return "{}";
  return Scalar(json);
}

bool IsBlock(const Json& json) { return json.is_structured() && !json.empty(); }

void AppendYaml(const Json& json, int indent, std::string& text) {
  const std::string margin(indent, ' ');
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) {
      absl::StrAppend(&text, margin, YamlScalar(Json(key)), ":");
      if (IsBlock(value)) {
        text += "\n";
        AppendYaml(value, indent + 2, text);
      } else {
        absl::StrAppend(&text, " ", YamlScalar(value), "\n");
      }
    }
    return;
  }
  for (const Json& value : json) {
    if (!IsBlock(value)) {
      absl::StrAppend(&text, margin, "- ", YamlScalar(value), "\n");
      continue;
    }
    std::string block;
    AppendYaml(value, indent + 2, block);
    block[indent] = '-';
    text += block;
  }
}

}  // namespace

void SetMessages(Message& message) {
  const auto* type = message.GetDescriptor();
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* field = type->field(i);
    if (field->is_repeated() || field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    SetMessages(*message.GetReflection()->MutableMessage(&message, field));
  }
}

std::string YamlText(const Json& json) {
  if (!IsBlock(json)) return YamlScalar(json) + "\n";
  std::string text;
  AppendYaml(json, 0, text);
  return text;
}

}  // namespace dt::cli
